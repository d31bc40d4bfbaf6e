"use strict";
(function () {
  var bar = document.getElementById("filter"), cases = Array.prototype.slice.call(document.querySelectorAll(".case"));
  var words = document.getElementById("words"), shown = document.getElementById("shown");
  function apply() {
    var on = {}, text = words.value.toLowerCase(), count = 0;
    bar.querySelectorAll("input[type=checkbox]").forEach(function (box) { on[box.value] = box.checked; });
    cases.forEach(function (item) {
      var visible = on[item.dataset.verdict] && (!text || item.dataset.words.indexOf(text) >= 0);
      item.hidden = !visible;
      count += visible ? 1 : 0;
    });
    shown.textContent = count + " of " + cases.length + " shown";
  }
  bar.hidden = false;
  bar.addEventListener("input", apply);
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll(".case[data-open] > details").forEach(function (item) { item.open = true; });
  });
  function follow() {
    var target = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    for (var item = target; item; item = item.parentElement) {
      if (item.tagName === "DETAILS") { item.open = true; }
    }
    if (target && target.firstElementChild && target.firstElementChild.tagName === "DETAILS") { target.firstElementChild.open = true; }
    if (target) { target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", follow);
  follow();
  apply();
})();

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
    var outside = document.getElementById("outside");
    if (outside && text) { outside.open = true; }
    shown.textContent = count + " of " + cases.length + " shown";
  }
  bar.hidden = false;
  bar.addEventListener("input", apply);
  document.addEventListener("click", function (event) {
    var search = event.target.dataset ? event.target.dataset.search : undefined;
    if (search) { words.value = search; apply(); }
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll(".case[data-open] > details").forEach(function (item) { item.open = true; });
  });
  var packs = document.querySelectorAll(".pack"), unpacked = {};
  function unpack(number) {
    if (!unpacked[number]) {
      var bytes = Uint8Array.from(atob(packs[number].textContent), function (c) { return c.charCodeAt(0); });
      var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
      unpacked[number] = new Response(stream).text().then(function (texts) { return texts.split("\0"); });
    }
    return unpacked[number];
  }
  document.addEventListener("toggle", function (event) {
    var item = event.target, place = item.dataset;
    if (!item.open || place.pack === undefined || place.done) { return; }
    place.done = "1";
    var failed = "<p class=small>This browser cannot unpack the ladder; the frames are in the capture beside this file.</p>";
    try {
      unpack(place.pack).then(
        function (texts) { item.insertAdjacentHTML("beforeend", texts[place.at]); },
        function () { item.insertAdjacentHTML("beforeend", failed); });
    } catch (error) { item.insertAdjacentHTML("beforeend", failed); }
  }, true);
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

// Search, sort, and what goes wrong alone. Nothing is loaded, and without it everything is there.
(function () {
  "use strict";
  var form = document.getElementById("tools"), list = document.getElementById("list");
  if (!form || !list) { return; }
  var all = Array.prototype.slice.call(list.children), words = form.elements.words, bad = form.elements.bad, sort = form.elements.sort;
  form.hidden = false;
  function value(item) { return Number(item.getAttribute("data-" + sort.value.replace("-", ""))); }
  function show() {
    var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0, sign = sort.value.charAt(0) === "-" ? -1 : 1;
    all.forEach(function (item) {
      var text = item.getAttribute("data-words");
      var fits = wanted.every(function (word) { return text.indexOf(word) >= 0; }) && (!bad.checked || item.classList.contains("bad"));
      item.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    all.slice().sort(function (a, b) { return sign * (value(a) - value(b)); }).forEach(function (item) { list.appendChild(item); });
    document.getElementById("shown").textContent = shown + " of " + all.length + " shown";
  }
  function reveal() {
    var target = document.getElementById(location.hash.slice(1)), inside = target && (target.tagName === "DETAILS" ? target : target.querySelector("details"));
    if (inside) { inside.open = true; target.scrollIntoView(); }
  }
  form.addEventListener("input", show);
  form.addEventListener("submit", function (event) { event.preventDefault(); });
  window.addEventListener("hashchange", reveal);
  show();
  reveal();
}());

// What is nicer with a script. Every page works without it.
(function () {
  "use strict";

  // A filter applies as soon as it is chosen.
  document.querySelectorAll("form[data-auto] select").forEach(function (select) {
    select.addEventListener("change", function () { select.form.requestSubmit(); });
  });
  // Empty filters stay out of the address.
  document.querySelectorAll("form[method=get]").forEach(function (form) {
    form.addEventListener("submit", function () {
      form.querySelectorAll("input, select").forEach(function (field) { if (!field.value) { field.disabled = true; } });
    });
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[method=get] :disabled").forEach(function (field) { field.disabled = false; });
  });

  // A slash goes to the search; arrows go from cell to cell.
  document.addEventListener("keydown", function (event) {
    var typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
      var search = document.querySelector("[data-key='/']");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
    var cell = event.target.closest && event.target.closest("[data-grid] td, [data-grid] th");
    var step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!cell || !step) { return; }
    var rows = Array.from(cell.closest("table").rows), at = rows.indexOf(cell.parentElement), column = cell.cellIndex;
    for (at += step[0], column += step[1]; rows[at] && column >= 0; at += step[0], column += step[1]) {
      var next = rows[at].cells[column], link = next && next.querySelector("a");
      if (link) { event.preventDefault(); link.focus(); return; }
      if (!next && !step[0]) { return; }
    }
  });

  // Times as ages.
  function age(seconds) {
    if (seconds < 90) { return Math.max(0, Math.round(seconds)) + " s ago"; }
    if (seconds < 5400) { return Math.round(seconds / 60) + " min ago"; }
    if (seconds < 172800) { return Math.round(seconds / 3600) + " h ago"; }
    return Math.round(seconds / 86400) + " days ago";
  }
  function ages() {
    document.querySelectorAll("time").forEach(function (time) {
      var at = Date.parse(time.dateTime);
      if (!time.title) { time.title = time.textContent; }
      time.textContent = age((Date.now() - at) / 1000);
    });
  }
  ages();
  window.setInterval(ages, 10000);

  // Is the page still true? A new revision loads it again; silence turns everything unknown.
  var body = document.body, fresh = document.getElementById("fresh"), heard = Date.now();
  if (!fresh) { return; }
  function silent() {
    body.classList.add("silent");
    fresh.className = "fresh unknown";
    fresh.querySelector(".word").textContent = "unknown";
    fresh.title = "the service does not respond";
  }
  function poll() {
    if (document.hidden) { return; }
    fetch("/api/v1/freshness", { credentials: "same-origin" }).then(function (response) {
      if (response.status === 401) { window.location.reload(); }
      if (!response.ok) { throw new Error(response.status); }
      return response.json();
    }).then(function (now) {
      var busy = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName);
      var changed = (now.revision || "") !== body.dataset.revision || now.state !== body.dataset.state || body.classList.contains("silent");
      heard = Date.now();
      if (changed && !busy) { window.location.reload(); }
      var time = fresh.querySelector("time");
      if (time && now.heard) { time.dateTime = now.heard; ages(); }
    }).catch(function () { if (Date.now() - heard > 15000) { silent(); } });
  }
  window.setInterval(poll, 5000);
  document.addEventListener("visibilitychange", poll);
}());

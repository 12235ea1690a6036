// What is nicer with a script. Every page works without it.
(function () {
  "use strict";

  // A filter applies as soon as it is chosen.
  document.addEventListener("change", function (event) {
    if (event.target.matches("form[data-auto] select")) { event.target.form.requestSubmit(); }
  });
  // Empty filters stay out of the address.
  document.addEventListener("submit", function (event) {
    if (event.target.method !== "get") { return; }
    event.target.querySelectorAll("input, select").forEach(function (field) { if (!field.value) { field.disabled = true; } });
  });
  window.addEventListener("pageshow", function () {
    document.querySelectorAll("form[method=get] :disabled").forEach(function (field) { field.disabled = false; });
  });

  // A slash goes to the search; arrows go from cell to cell.
  document.addEventListener("keydown", function (event) {
    var field = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !field && !event.ctrlKey && !event.metaKey) {
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

  // Times as ages, or as how long they are away.
  function span(seconds) {
    if (seconds < 90) { return Math.round(seconds) + " s"; }
    if (seconds < 5400) { return Math.round(seconds / 60) + " min"; }
    if (seconds < 172800) { return Math.round(seconds / 3600) + " h"; }
    return Math.round(seconds / 86400) + " days";
  }
  function age(seconds) {
    if (seconds < -5) { return "in " + span(-seconds); }
    return span(Math.max(0, seconds)) + " ago";
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

  // On a narrow window the menu scrolls to where the reader is.
  var here = document.querySelector(".top nav [aria-current]");
  if (here) { here.parentElement.scrollLeft = here.offsetLeft - here.parentElement.offsetLeft - 24; }

  // Is the page still true? A change shows at once; silence turns everything unknown.
  var body = document.body;
  if (!document.getElementById("fresh")) { return; }
  var heard = Date.now(), version = null, stream = null, streamed = 0, retry = 0, pending = false, loading = false;

  function typing() { return /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement.tagName); }

  // Takes the page's newest content over. What a reader has scrolled to, opened or chosen stays.
  function update() {
    if (typing() || loading) { pending = true; return; }
    pending = false;
    loading = true;
    fetch(window.location.href, { credentials: "same-origin", headers: { Accept: "text/html" } }).then(function (response) {
      if (response.redirected || response.status === 401) { window.location.reload(); throw new Error("signed out"); }
      return response.text();
    }).then(function (text) {
      loading = false;
      if (typing()) { pending = true; return; }
      var next = new DOMParser().parseFromString(text, "text/html");
      if (!next.getElementById("fresh")) { window.location.reload(); return; }
      var active = document.activeElement, href = active && active.getAttribute("href");
      var within = active && active.closest("main") ? "main " : "";
      var scrolled = Array.from(document.querySelectorAll(".scroll"), function (e) { return [e.scrollLeft, e.scrollTop]; });
      var opened = Array.from(document.querySelectorAll("main details"), function (e) { return e.open; });
      ["main", "nav[aria-label=Pages]", "#fresh", "#banner"].forEach(function (part) {
        var from = next.querySelector(part), to = document.querySelector(part);
        if (from && to && from.innerHTML !== to.innerHTML) { to.replaceWith(document.adoptNode(from)); }
      });
      body.className = "";
      body.dataset.revision = next.body.dataset.revision;
      body.dataset.state = next.body.dataset.state;
      document.title = next.title;
      document.querySelectorAll("main details").forEach(function (e, i) { if (i < opened.length) { e.open = opened[i]; } });
      document.querySelectorAll(".scroll").forEach(function (e, i) { if (scrolled[i]) { e.scrollLeft = scrolled[i][0]; e.scrollTop = scrolled[i][1]; } });
      if (href && document.activeElement === body) {
        var again = document.querySelector(within + "[href='" + window.CSS.escape(href) + "']");
        if (again) { again.focus({ preventScroll: true }); }
      }
      ages();
      if (pending) { update(); }
    }).catch(function () { loading = false; });
  }
  document.addEventListener("focusout", function () { if (pending) { window.setTimeout(function () { if (pending) { update(); } }, 0); } });

  function silent() {
    var fresh = document.getElementById("fresh");
    body.classList.add("silent");
    fresh.className = "fresh unknown";
    fresh.querySelector(".word").textContent = "unknown";
    fresh.title = "the service does not respond";
  }
  function seen(now) {
    heard = Date.now();
    var changed = (now.revision || "") !== body.dataset.revision || now.state !== body.dataset.state || body.classList.contains("silent");
    if (changed || version && now.version && now.version !== version) { update(); }
    version = now.version || version;
    var time = document.querySelector("#fresh time");
    if (time && now.heard) { time.dateTime = now.heard; ages(); }
  }
  function listen() {
    if (stream || document.hidden || !window.EventSource || Date.now() < retry) { return; }
    version = null; // another replica may count otherwise
    stream = new EventSource("/api/v1/events");
    stream.onmessage = function (event) { streamed = Date.now(); body.dataset.events = "open"; seen(JSON.parse(event.data)); };
    stream.onerror = function () { hush(); retry = Date.now() + 30000; poll(); };
  }
  function hush() { if (stream) { stream.close(); stream = null; streamed = 0; delete body.dataset.events; } }
  function poll() {
    fetch("/api/v1/freshness", { credentials: "same-origin" }).then(function (response) {
      if (response.status === 401) { window.location.reload(); }
      if (!response.ok) { throw new Error(response.status); }
      return response.json();
    }).then(function (now) { seen(now); }).catch(function () { if (Date.now() - heard > 15000) { silent(); } });
  }
  function look() {
    if (document.hidden) { hush(); return; } // a page that nobody sees costs nothing
    listen();
    if (Date.now() - streamed > 20000) { poll(); }
  }
  window.setInterval(look, 5000);
  document.addEventListener("visibilitychange", look);
  look();
}());

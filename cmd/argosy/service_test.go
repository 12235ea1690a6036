package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/argosy-hub/argosy/internal/hold"
)

// holdService is a command of scripts:
//
//	holdservice FILE   a service that lists the holds of FILE for the token "secret", at $SERVICE
func holdService(ts *testscript.TestScript, neg bool, args []string) {
	need(ts, neg, args, 1, "holdservice FILE")
	var all hold.List
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &all))
	all.Items = hold.Sorted(all.Items)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, l := r.URL.Query(), all
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			http.Error(w, `{"message":"the bearer token is wrong"}`, http.StatusUnauthorized)
			return
		case r.URL.Path != "/api/v1/holds":
			http.Error(w, "no such page", http.StatusNotFound)
			return
		}
		group, component, _ := strings.Cut(q.Get("component"), "/")
		l.Items = hold.Query{Hub: q.Get("hub"), Cluster: q.Get("cluster"), Group: group, Component: component}.Of(all.Items)
		if r.URL.RawQuery != "" {
			l.More = 0
		}
		l.Summary = hold.Summarize(l.Items)
		_ = json.NewEncoder(w).Encode(l)
	}))
	ts.Defer(s.Close)
	ts.Setenv("SERVICE", s.URL)
}

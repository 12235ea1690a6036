package planpage

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
)

// file is the template of a plan in one HTML file.
var file = template.Must(template.Must(template.New("file").Funcs(Functions).Parse(PlanTemplate)).Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{.Policy}}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Plan: {{.Plan.Base}} to {{.Plan.Head}}</title>
<style>{{.Style}}</style>
</head>
<body>
<header class="top"><span class="brand">Argosy</span><span class="fresh"><code>argosy plan</code></span></header>
<main id="main">
<div class="head"><h1>Plan</h1><p class="lead"><code>{{.Plan.Base}}</code> → <code>{{.Plan.Head}}</code>: {{.Plan.Summary}}</p></div>
{{template "plan" .Plan}}
</main>
</body>
</html>
`))

// Policy returns a file's Content-Security-Policy, which allows only the stylesheet in it.
func Policy() string {
	sum := sha256.Sum256([]byte(Stylesheet))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; base-uri 'none'; form-action 'none'"
}

// WriteFile writes a plan as one HTML file that loads nothing else.
func WriteFile(w io.Writer, p Plan) error {
	var b bytes.Buffer
	err := file.Execute(&b, struct {
		Policy string
		Style  template.CSS
		Plan   Plan
	}{Policy(), template.CSS(Stylesheet), p}) //nolint:gosec // our own stylesheet
	if err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

package externalsecrets

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"

	"github.com/argosy-hub/argosy/internal/change/plan"
)

// Functions returns the functions that a template may call: sprig's, except what reads the
// environment, and External Secrets' own (v0.19.2 and v0.20.4, pkg/template/v2/template.go, whose
// package brings the providers' certificates and keys). Templates are only parsed: none works.
var Functions = sync.OnceValue(func() template.FuncMap {
	out := template.FuncMap{}
	for _, name := range append(slices.Collect(maps.Keys(sprig.TxtFuncMap())), strings.Fields(`
		pkcs12key pkcs12keyPass pkcs12cert pkcs12certPass pemToPkcs12 pemToPkcs12Pass fullPemToPkcs12 fullPemToPkcs12Pass
		pemTruststoreToPKCS12 pemTruststoreToPKCS12Pass filterPEM filterCertChain jwkPublicKeyPem jwkPrivateKeyPem
		toYaml fromYaml getSecretKey rsaDecrypt`)...) {
		out[name] = func() string { return "" }
	}
	delete(out, "env")
	delete(out, "expandenv")
	return out
})

// template parses all texts of a template. It skips the engine v1, which only old versions have and
// which has other functions.
func (o *object) template(t *esv1.ExternalSecretTemplate, at path) {
	if t == nil || t.EngineVersion != "" && t.EngineVersion != esv1.TemplateEngineV2 {
		return
	}
	for _, texts := range []struct {
		at path
		of map[string]string
	}{{at.to("data"), t.Data}, {at.to("metadata", "annotations"), t.Metadata.Annotations}, {at.to("metadata", "labels"), t.Metadata.Labels}} {
		for _, key := range slices.Sorted(maps.Keys(texts.of)) {
			o.parse(texts.of[key], texts.at.to(key))
		}
	}
	for i, from := range t.TemplateFrom {
		if from.Literal != nil {
			o.parse(*from.Literal, at.to("templateFrom", strconv.Itoa(i), "literal"))
		}
	}
}

// parse adds a fault if External Secrets cannot parse a text.
func (o *object) parse(text string, at path) {
	if _, err := template.New("").Funcs(Functions()).Parse(text); err != nil {
		found := strings.Join(at, ".") + " does not parse: " + strings.Replace(err.Error(), "template: :", "line ", 1)
		o.faults = append(o.faults, plan.SecretFault{Path: at, Found: found, Expected: "a template of External Secrets"})
	}
}

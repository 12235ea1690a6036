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

// ownFunctions are External Secrets' functions besides sprig's (v0.19.2 and v0.20.4,
// pkg/template/v2/template.go). That package is not linked: it brings the providers' certificates
// and keys with it.
var ownFunctions = []string{
	"pkcs12key", "pkcs12keyPass", "pkcs12cert", "pkcs12certPass", "pemToPkcs12", "pemToPkcs12Pass", "fullPemToPkcs12", "fullPemToPkcs12Pass",
	"pemTruststoreToPKCS12", "pemTruststoreToPKCS12Pass", "filterPEM", "filterCertChain", "jwkPublicKeyPem", "jwkPrivateKeyPem",
	"toYaml", "fromYaml", "getSecretKey", "rsaDecrypt",
}

// Functions returns the functions that a template may call. None of them works: templates are only
// parsed.
var Functions = sync.OnceValue(func() template.FuncMap {
	out := template.FuncMap{}
	for name := range sprig.TxtFuncMap() {
		out[name] = unused
	}
	delete(out, "env")
	delete(out, "expandenv")
	for _, name := range ownFunctions {
		out[name] = unused
	}
	return out
})

func unused() string { return "" }

// template parses all texts of a template. It skips the engine v1, which only old versions have and
// which has other functions.
func (o *object) template(t *esv1.ExternalSecretTemplate, path ...string) {
	if t == nil || t.EngineVersion != "" && t.EngineVersion != esv1.TemplateEngineV2 {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(t.Data)) {
		o.parse(t.Data[key], append(path[:len(path):len(path)], "data", key)...)
	}
	for _, in := range []struct {
		name  string
		texts map[string]string
	}{{"annotations", t.Metadata.Annotations}, {"labels", t.Metadata.Labels}} {
		for _, key := range slices.Sorted(maps.Keys(in.texts)) {
			o.parse(in.texts[key], append(path[:len(path):len(path)], "metadata", in.name, key)...)
		}
	}
	for i, from := range t.TemplateFrom {
		if from.Literal != nil {
			o.parse(*from.Literal, append(path[:len(path):len(path)], "templateFrom", strconv.Itoa(i), "literal")...)
		}
	}
}

// parse adds a fault if External Secrets cannot parse a text.
func (o *object) parse(text string, path ...string) {
	if _, err := template.New("").Funcs(Functions()).Parse(text); err != nil {
		at := o.below(path...)
		o.Faults = append(o.Faults, plan.SecretFault{
			Path: at, Found: strings.Join(at, ".") + " does not parse: " + strings.Replace(err.Error(), "template: :", "line ", 1), Expected: "a template of External Secrets",
		})
	}
}

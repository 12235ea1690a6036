package externalsecrets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/argosy-hub/argosy/internal/change/plan"
)

var _ plan.SecretReader = Read

// Read returns what an object uses, and what External Secrets or the API server refuses of it.
func Read(tree map[string]any) ([]plan.SecretUse, []plan.SecretFault) {
	o := &object{}
	switch kind, _ := tree["kind"].(string); kind {
	case esv1.ExtSecretKind:
		if x, ok := decode[esv1.ExternalSecret](o, tree); ok {
			o.externalSecret(x.Spec, path{"spec"})
		}
	case esv1.ClusterExtSecretKind:
		if x, ok := decode[esv1.ClusterExternalSecret](o, tree); ok {
			o.externalSecret(x.Spec.ExternalSecretSpec, path{"spec", "externalSecretSpec"})
		}
	case "PushSecret":
		if x, ok := decode[esv1alpha1.PushSecret](o, tree); ok {
			o.pushSecret(x.Spec, path{"spec"})
		}
	case "ClusterPushSecret":
		if x, ok := decode[esv1alpha1.ClusterPushSecret](o, tree); ok {
			o.pushSecret(x.Spec.PushSecretSpec, path{"spec", "pushSecretSpec"})
		}
	case esv1.SecretStoreKind, esv1.ClusterSecretStoreKind: // of one spec
		if x, ok := decode[esv1.SecretStore](o, tree); ok {
			o.store(plan.SecretStore{Kind: kind, Name: x.Name}, x.Spec.Provider)
		}
	}
	return o.uses, o.faults
}

// object collects what an object uses, and its faults.
type object struct {
	uses   []plan.SecretUse
	faults []plan.SecretFault
}

// path is a path in an object.
type path []string

func (p path) to(names ...string) path { return append(p[:len(p):len(p)], names...) }

func (o *object) use(verb plan.SecretVerb, store plan.SecretStore, name string, at path) {
	o.uses = append(o.uses, plan.SecretUse{Verb: verb, Store: store, Name: name, Path: at})
}

// decode decodes a tree as one of the types; a field of another type is a fault.
func decode[T any](o *object, tree map[string]any) (x T, ok bool) {
	text, err := json.Marshal(tree)
	if err == nil {
		err = k8sjson.Unmarshal(text, &x) // keys are case-sensitive, as in the API server
	}
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mismatch):
		expected := map[string]string{"struct": "an object", "map": "an object", "slice": "a list", "array": "a list", "bool": "true or false", "string": "a string"}[mismatch.Type.Kind().String()]
		o.faults = append(o.faults, plan.SecretFault{
			Path: strings.Split(mismatch.Field, "."), Found: fmt.Sprintf("%s is a JSON %s", mismatch.Field, mismatch.Value), Expected: cmp.Or(expected, "a number"),
		})
	case err != nil:
		o.faults = append(o.faults, plan.SecretFault{Path: path{"spec"}, Found: "cannot be decoded: " + err.Error()})
	}
	return x, err == nil
}

// externalSecret collects what an ExternalSecret reads. An entry's own store wins over the
// object's.
func (o *object) externalSecret(spec esv1.ExternalSecretSpec, at path) {
	read := func(own *esv1.SecretStoreRef, name string, at path) {
		if own == nil || own.Name == "" {
			own = &spec.SecretStoreRef
		}
		o.use(plan.ReadSecret, plan.SecretStore{Kind: cmp.Or(own.Kind, esv1.SecretStoreKind), Name: own.Name}, name, at)
	}
	for i, d := range spec.Data { // External Secrets ignores a generator here
		var own *esv1.SecretStoreRef
		if d.SourceRef != nil {
			own = &d.SourceRef.SecretStoreRef
		}
		read(own, d.RemoteRef.Key, at.to("data", strconv.Itoa(i)))
	}
	for i, d := range spec.DataFrom {
		at := at.to("dataFrom", strconv.Itoa(i))
		o.validate(d, at)
		own := cmp.Or(d.SourceRef, &esv1.StoreGeneratorSourceRef{})
		switch { // External Secrets takes the first (v0.20.4, externalsecret_controller_secret.go)
		case d.Find != nil:
			read(own.SecretStoreRef, found(d.Find), at)
		case d.Extract != nil:
			read(own.SecretStoreRef, d.Extract.Key, at)
		case own.GeneratorRef != nil:
			o.use(plan.ReadSecret, plan.SecretStore{Kind: own.GeneratorRef.Kind, Name: own.GeneratorRef.Name}, "what it generates", at)
		default:
			read(own.SecretStoreRef, "", at)
		}
		for j, r := range d.Rewrite {
			if r.Transform != nil {
				o.parse(r.Transform.Template, at.to("rewrite", strconv.Itoa(j), "transform", "template"))
			}
		}
	}
	o.template(spec.Target.Template, at.to("target", "template"))
}

// validate checks an entry of dataFrom with External Secrets' webhook.
func (o *object) validate(d esv1.ExternalSecretDataFromRemoteRef, at path) {
	alone := &esv1.ExternalSecret{Spec: esv1.ExternalSecretSpec{DataFrom: []esv1.ExternalSecretDataFromRemoteRef{d}}}
	if _, err := (&esv1.ExternalSecretValidator{}).ValidateCreate(context.Background(), alone); err != nil {
		found := strings.Join(at, ".") + ": " + strings.ReplaceAll(err.Error(), "\n", ", ")
		o.faults = append(o.faults, plan.SecretFault{Path: at, Found: found, Expected: "an entry that External Secrets takes"})
	}
}

// found describes all names that a search may find.
func found(f *esv1.ExternalSecretFind) string {
	var parts []string
	if f.Path != nil && *f.Path != "" {
		parts = append(parts, "below "+*f.Path)
	}
	if f.Name != nil && f.Name.RegExp != "" {
		parts = append(parts, "matching "+f.Name.RegExp)
	}
	if len(f.Tags) > 0 {
		tags, _ := json.Marshal(f.Tags) // sorted
		parts = append(parts, "with tags "+string(tags))
	}
	return strings.TrimSpace("all names " + strings.Join(parts, ", "))
}

// pushSecret collects what a PushSecret writes to each of its stores.
func (o *object) pushSecret(spec esv1alpha1.PushSecretSpec, at path) {
	for _, ref := range spec.SecretStoreRefs {
		to := plan.SecretStore{Kind: cmp.Or(ref.Kind, esv1.SecretStoreKind), Name: ref.Name}
		// A selector wins over a name (v0.20.4, pushsecret_controller.go, GetSecretStores).
		if ref.LabelSelector != nil {
			to.Name, to.Labels = "", metav1.FormatLabelSelector(ref.LabelSelector)
		}
		for i, d := range spec.Data {
			o.use(plan.WriteSecret, to, d.Match.RemoteRef.RemoteKey, at.to("data", strconv.Itoa(i)))
		}
	}
	o.template(spec.Template, at.to("template"))
}

// roleKeys are the fields of a provider that hold who the store is to it: a role, an identity or a
// profile.
var roleKeys = []string{"role", "additionalRoles", "vaultRole", "roleId", "roleArn", "identityId", "profile"}

// store collects the roles of a store: whatever identifies it to its provider. A store that
// authenticates only by a Secret has no roles.
func (o *object) store(store plan.SecretStore, provider *esv1.SecretStoreProvider) {
	var tree any
	text, err := json.Marshal(provider) // only the fields that External Secrets knows
	if err == nil && json.Unmarshal(text, &tree) == nil {
		o.roles(store, tree, path{"spec", "provider"})
	}
}

func (o *object) roles(store plan.SecretStore, provider any, at path) {
	fields, _ := provider.(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		at := at.to(key)
		account, _ := fields[key].(map[string]any)
		switch {
		case slices.Contains(roleKeys, key):
			all, many := fields[key].([]any)
			if !many {
				all = []any{fields[key]}
			}
			for _, role := range all {
				if name, _ := role.(string); name != "" {
					o.use(plan.AssumeRole, store, name, at)
				}
			}
		case key == "serviceAccountRef" || key == "serviceAccount":
			name, _ := account["name"].(string)
			namespace, _ := account["namespace"].(string)
			if name != "" {
				o.use(plan.AssumeRole, store, "ServiceAccount "+strings.TrimPrefix(namespace+"/"+name, "/"), at)
			}
		default:
			o.roles(store, fields[key], at)
		}
	}
}

package externalsecrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	esv1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1"
	esv1alpha1 "github.com/external-secrets/external-secrets/apis/externalsecrets/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/argosy-hub/argosy/internal/change/plan"
)

// Reader reads objects of External Secrets for a plan.
type Reader struct{}

var _ plan.SecretReader = Reader{}

// Read decodes an object. The error is a *plan.SecretFault.
func (Reader) Read(tree map[string]any) (plan.SecretObject, error) {
	kind, _ := tree["kind"].(string)
	switch kind {
	case esv1.ExtSecretKind:
		return read(tree, func(o *esv1.ExternalSecret) plan.SecretObject { return externalSecret(o.Spec, "spec") })
	case esv1.ClusterExtSecretKind:
		return read(tree, func(o *esv1.ClusterExternalSecret) plan.SecretObject {
			return externalSecret(o.Spec.ExternalSecretSpec, "spec", "externalSecretSpec")
		})
	case "PushSecret":
		return read(tree, func(o *esv1alpha1.PushSecret) plan.SecretObject { return pushSecret(o.Spec, "spec") })
	case "ClusterPushSecret":
		return read(tree, func(o *esv1alpha1.ClusterPushSecret) plan.SecretObject {
			return pushSecret(o.Spec.PushSecretSpec, "spec", "pushSecretSpec")
		})
	case esv1.SecretStoreKind:
		return read(tree, func(o *esv1.SecretStore) plan.SecretObject { return store(kind, o.Name, o.Spec) })
	case esv1.ClusterSecretStoreKind:
		return read(tree, func(o *esv1.ClusterSecretStore) plan.SecretObject { return store(kind, o.Name, o.Spec) })
	}
	return plan.SecretObject{}, nil
}

// read decodes a tree as one of the types.
func read[T any](tree map[string]any, uses func(*T) plan.SecretObject) (plan.SecretObject, error) {
	var o T
	text, err := json.Marshal(tree)
	if err == nil {
		err = k8sjson.Unmarshal(text, &o) // keys are case-sensitive, as in the API server
	}
	if err != nil {
		return plan.SecretObject{}, fault(err)
	}
	return uses(&o), nil
}

// fault returns why an object cannot be decoded.
func fault(err error) *plan.SecretFault {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return &plan.SecretFault{
			Path: strings.Split(mismatch.Field, "."), Found: fmt.Sprintf("%s is a JSON %s", mismatch.Field, mismatch.Value), Expected: jsonName(mismatch.Type.Kind().String()),
		}
	}
	return &plan.SecretFault{Path: []string{"spec"}, Found: "cannot be decoded: " + err.Error()}
}

// jsonName returns JSON's word for a kind of Go type.
func jsonName(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice", "array":
		return "a list"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	}
	return "a number"
}

// object collects what an object uses. at is the path of the part that is being read.
type object struct {
	plan.SecretObject
	at []string
}

func (o *object) below(path ...string) []string { return append(o.at[:len(o.at):len(o.at)], path...) }

func (o *object) use(verb plan.SecretVerb, store plan.SecretStore, name string, path ...string) {
	o.Uses = append(o.Uses, plan.SecretUse{Verb: verb, Store: store, Name: name, Path: o.below(path...)})
}

// externalSecret returns what an ExternalSecret reads. An entry's own store wins over the object's.
func externalSecret(spec esv1.ExternalSecretSpec, at ...string) plan.SecretObject {
	o := &object{at: at}
	for i, d := range spec.Data { // External Secrets ignores a generator here
		own := spec.SecretStoreRef
		if ref := d.SourceRef; ref != nil && ref.SecretStoreRef.Name != "" {
			own = ref.SecretStoreRef
		}
		o.read(own, nil, d.RemoteRef.Key, "data", strconv.Itoa(i))
	}
	for i, d := range spec.DataFrom {
		o.validate(d, "dataFrom", strconv.Itoa(i))
		own, generator := spec.SecretStoreRef, (*esv1.GeneratorRef)(nil)
		if ref := d.SourceRef; ref != nil {
			if ref.SecretStoreRef != nil && ref.SecretStoreRef.Name != "" {
				own = *ref.SecretStoreRef
			}
			generator = ref.GeneratorRef
		}
		name := ""
		switch { // External Secrets takes the first (v0.20.4, externalsecret_controller_secret.go)
		case d.Find != nil:
			name, generator = found(d.Find), nil
		case d.Extract != nil:
			name, generator = d.Extract.Key, nil
		}
		o.read(own, generator, name, "dataFrom", strconv.Itoa(i))
		for j, r := range d.Rewrite {
			if r.Transform != nil {
				o.parse(r.Transform.Template, "dataFrom", strconv.Itoa(i), "rewrite", strconv.Itoa(j), "transform", "template")
			}
		}
	}
	o.template(spec.Target.Template, "target", "template")
	return o.SecretObject
}

// validate checks an entry of dataFrom with External Secrets' webhook.
func (o *object) validate(d esv1.ExternalSecretDataFromRemoteRef, path ...string) {
	alone := &esv1.ExternalSecret{Spec: esv1.ExternalSecretSpec{DataFrom: []esv1.ExternalSecretDataFromRemoteRef{d}}}
	if _, err := (&esv1.ExternalSecretValidator{}).ValidateCreate(context.Background(), alone); err != nil {
		at := o.below(path...)
		o.Faults = append(o.Faults, plan.SecretFault{Path: at, Found: strings.Join(at, ".") + ": " + strings.ReplaceAll(err.Error(), "\n", ", "), Expected: "an entry that External Secrets takes"})
	}
}

func (o *object) read(store esv1.SecretStoreRef, generator *esv1.GeneratorRef, name string, path ...string) {
	if generator != nil {
		o.use(plan.ReadSecret, plan.SecretStore{Kind: generator.Kind, Name: generator.Name}, "what it generates", path...)
		return
	}
	o.use(plan.ReadSecret, plan.SecretStore{Kind: storeKind(store.Kind), Name: store.Name}, name, path...)
}

// storeKind returns the kind of a store reference, SecretStore by default.
func storeKind(kind string) string {
	if kind == "" {
		return esv1.SecretStoreKind
	}
	return kind
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
		tags, err := json.Marshal(f.Tags) // sorted
		if err == nil {
			parts = append(parts, "with tags "+string(tags))
		}
	}
	if len(parts) == 0 {
		return "all names"
	}
	return "all names " + strings.Join(parts, ", ")
}

// pushSecret returns what a PushSecret writes to each of its stores.
func pushSecret(spec esv1alpha1.PushSecretSpec, at ...string) plan.SecretObject {
	o := &object{at: at}
	for _, ref := range spec.SecretStoreRefs {
		to := plan.SecretStore{Kind: storeKind(ref.Kind), Name: ref.Name}
		// A selector wins over a name (v0.20.4, pushsecret_controller.go, GetSecretStores).
		if ref.LabelSelector != nil {
			to.Name, to.Labels = "", metav1.FormatLabelSelector(ref.LabelSelector)
		}
		for i, d := range spec.Data {
			o.use(plan.WriteSecret, to, d.Match.RemoteRef.RemoteKey, "data", strconv.Itoa(i))
		}
	}
	o.template(spec.Template, "template")
	return o.SecretObject
}

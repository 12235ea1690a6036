package terraform

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// statement is one of a document of IAM.
type statement struct {
	Effect           string
	Action, Resource list
	Principal        map[string]list
	Condition        map[string]map[string]list
}

// list is a text or several.
type list []string

func (l *list) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = list{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

// matches reports whether a pattern of the list, in which * and ? stand for any text and any
// character, covers a text.
func (l list) matches(text string) bool {
	flat := strings.NewReplacer("/", "\x00") // * covers slashes, too
	return slices.ContainsFunc(l, func(pattern string) bool {
		is, err := path.Match(flat.Replace(pattern), flat.Replace(text))
		return err == nil && is
	})
}

// request is what IAM decides about.
type request struct {
	principal, action, resource string
	context                     map[string]string
}

// allows reports whether a document permits a request: as the policy of a role, or, with
// principals, as the policy of a resource.
func allows(t *testing.T, document string, r request) bool {
	t.Helper()
	var d struct{ Statement []statement }
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	return slices.ContainsFunc(d.Statement, func(s statement) bool {
		if s.Effect != "Allow" {
			t.Fatalf("effect %s is not evaluated here", s.Effect)
		}
		if s.Principal != nil && !slices.Contains(s.Principal["AWS"], r.principal) && !slices.Contains(s.Principal["Service"], r.principal) {
			return false
		}
		if s.Resource != nil && !s.Resource.matches(r.resource) {
			return false
		}
		for operator, conditions := range s.Condition {
			if operator != "StringEquals" && operator != "StringLike" {
				t.Fatalf("condition %s is not evaluated here", operator)
			}
			for key, values := range conditions {
				if operator == "StringEquals" && !slices.Contains(values, r.context[key]) || !values.matches(r.context[key]) {
					return false
				}
			}
		}
		return s.Action.matches(r.action)
	})
}

// aws answers who may do what, by the policies in the cloud.
type aws struct {
	roles, rolePolicies, secrets, secretPolicies, keys []object
}

func newAWS(t *testing.T, c cloud) aws {
	t.Helper()
	var a aws
	for kind, to := range map[string]*[]object{
		"aws_iam_role": &a.roles, "aws_iam_role_policy": &a.rolePolicies, "aws_secretsmanager_secret": &a.secrets,
		"aws_secretsmanager_secret_policy": &a.secretPolicies, "aws_kms_key": &a.keys,
	} {
		var err error
		if *to, err = c.all(kind); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// find is the object with an attribute.
func find(objects []object, attribute, value string) (object, bool) {
	i := slices.IndexFunc(objects, func(o object) bool { return o.text(attribute) == value })
	if i < 0 {
		return object{}, false
	}
	return objects[i], true
}

// roleMay reports whether the policies of a role permit a request.
func (a aws) roleMay(t *testing.T, role object, r request) bool {
	t.Helper()
	r.principal = role.text("arn")
	return slices.ContainsFunc(a.rolePolicies, func(p object) bool {
		return p.Account == role.Account && p.text("role") == role.text("name") && allows(t, p.text("policy"), r)
	})
}

// mayRead reports whether a role may read a secret and decrypt it: by its own policy, and in
// another account by the policies of the secret and its key as well.
func (a aws) mayRead(t *testing.T, role, secret object) bool {
	t.Helper()
	policy, shared := find(a.secretPolicies, "secret_arn", secret.text("arn"))
	for _, action := range []string{"secretsmanager:DescribeSecret", "secretsmanager:GetSecretValue"} {
		r := request{role.text("arn"), action, secret.text("arn"), nil}
		if !a.roleMay(t, role, r) || role.Account != secret.Account && (!shared || !allows(t, policy.text("policy"), r)) {
			return false
		}
	}
	key, own := find(a.keys, "arn", secret.text("kms_key_id"))
	if !own { // the account's default key, which no other account may use
		return role.Account == secret.Account
	}
	r := request{role.text("arn"), "kms:Decrypt", key.text("arn"), map[string]string{"kms:ViaService": fmt.Sprintf("secretsmanager.%s.amazonaws.com", secret.Region)}}
	account := r
	account.principal = fmt.Sprintf("arn:aws:iam::%s:root", role.Account)
	return a.roleMay(t, role, r) && (allows(t, key.text("policy"), r) || allows(t, key.text("policy"), account))
}

// mayAssume reports whether a role may assume another one: by its own policy, and by the other's
// trust.
func (a aws) mayAssume(t *testing.T, role, other object) bool {
	t.Helper()
	r := request{role.text("arn"), "sts:AssumeRole", other.text("arn"), nil}
	return a.roleMay(t, role, r) && allows(t, other.text("assume_role_policy"), r)
}

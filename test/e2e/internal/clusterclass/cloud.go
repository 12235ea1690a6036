package clusterclass

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
)

// Account is the account of the cloud.
const Account = "111122223333"

// The kinds of things that more is known of than their id.
const (
	clusterThing  = "cluster"
	nodesThing    = "nodes"
	roleThing     = "role"
	identityThing = "openidconnectprovider"
	audience      = "sts.amazonaws.com" // of tokens that log in
)

// Cloud is a cloud in memory, in the place of AWS (rule 2). Providers of several clusters may share
// one.
type Cloud struct {
	// Endpoint is where a cluster's API server is, and its authority as PEM.
	Endpoint func(cluster string) (url string, authority []byte)
	// Token logs in to a cluster. With ACK, which makes no credentials, the cluster has a Secret
	// CLUSTER-token beside it then; nil makes none.
	Token func(cluster string) string
	// Issuer signs the tokens of a cluster's ServiceAccounts; nil where nobody asks.
	Issuer func(cluster string) string

	mu      sync.Mutex
	things  map[string]*thing // by kind and name: "cluster c1", "nodes c1", "subnet c1-private-0"
	stuck   map[string]bool
	events  []string
	issuers map[string]*kube.Client
	made    int
}

// A thing is something that the cloud has.
type thing struct {
	id, version string
	asked       map[string]any // what made it
}

// Events are what happened in the cloud to clusters and nodes, in order, "cluster c1 is on 1.31",
// "nodes c1 is gone", and what it refused.
func (c *Cloud) Events() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// Things are the clusters and nodes of the cloud, by name, with their versions.
func (c *Cloud) Things() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]string{}
	for name, t := range c.things {
		if t.version != "" {
			out[name] = t.version
		}
	}
	return out
}

// Resources are all other things of the cloud, with what they were asked to be.
func (c *Cloud) Resources() map[string]map[string]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]map[string]any{}
	for name, t := range c.things {
		if t.version == "" {
			out[name] = maps.Clone(t.asked)
		}
	}
	return out
}

// Stick keeps a thing of the cloud, such as "cluster c1", on its version, or lets it go on.
func (c *Cloud) Stick(name string, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck == nil {
		c.stuck = map[string]bool{}
	}
	c.stuck[name] = is
}

// note adds an event, and a repeated refusal once.
func (c *Cloud) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(fmt.Sprintf(format, args...))
}

func (c *Cloud) add(event string) {
	if !strings.HasPrefix(event, "refused: ") || !slices.Contains(c.events, event) {
		c.events = append(c.events, event)
	}
}

// apply brings the cloud to what is asked for: a change takes two calls. It reports the thing, nil
// where there is none, and whether it was as asked for before.
func (c *Cloud) apply(kind, name, version string, asked map[string]any) (*thing, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.things == nil {
		c.things = map[string]*thing{}
	}
	key := kind + " " + name
	is := c.things[key]
	switch {
	case is != nil && is.version == version:
		is.asked = asked
		return is, true
	case c.stuck[key]:
		return is, false
	}
	if kind == nodesThing {
		of := c.things[clusterThing+" "+name]
		if of == nil || version > of.version { // of one length here
			c.add(fmt.Sprintf("refused: %s on %s, its control plane is on %q", key, version, versionOf(of)))
			return is, false
		}
	}
	if is == nil {
		c.made++
		is = &thing{id: fmt.Sprintf("%s-%08x", kind, c.made)}
		c.things[key] = is
	}
	is.version, is.asked = version, asked
	if version != "" {
		c.add(fmt.Sprintf("%s is on %s", key, version))
	}
	return is, false
}

func versionOf(t *thing) string {
	if t == nil {
		return ""
	}
	return t.version
}

// remove removes a thing, and reports whether it is gone. What others need is refused, as AWS does:
// a control plane with nodes, a network with a cluster.
func (c *Cloud) remove(kind, name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := kind + " " + name
	is := c.things[key]
	if is == nil {
		return true
	}
	if _, has := c.things[nodesThing+" "+name]; kind == clusterThing && has {
		c.add("refused: cluster " + name + " has nodes")
		return false
	}
	for _, other := range slices.Sorted(maps.Keys(c.things)) {
		if other != key && names(c.things[other].asked, is.id) {
			c.add("refused: " + key + " is in use by " + other)
			return false
		}
	}
	delete(c.things, key)
	c.add(key + " is gone")
	return true
}

// names reports whether a value has a text somewhere, as a whole.
func names(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return v == text
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return names(item, text) })
	case map[string]any:
		for _, item := range v {
			if names(item, text) {
				return true
			}
		}
	}
	return false
}

// thing is what the cloud has of a kind and name.
func (c *Cloud) thing(kind, name string) *thing {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.things[kind+" "+name]
}

// ARN is the name of a role that the cloud has, or would have.
func ARN(role string) string { return "arn:aws:iam::" + Account + ":role/" + role }

func identityARN(issuer string) string {
	return "arn:aws:iam::" + Account + ":oidc-provider/" + strings.TrimPrefix(issuer, "https://")
}

// Trust has the cloud know the tokens of a cluster, and makes what nobody on a hub makes: the
// identity provider of the hub itself, and a role for one of its ServiceAccounts.
func (c *Cloud) Trust(issuer string, client *kube.Client, role, subject string) {
	c.Know(issuer, client)
	host := strings.TrimPrefix(issuer, "https://")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.things == nil {
		c.things = map[string]*thing{}
	}
	c.things[identityThing+" of "+host] = &thing{asked: map[string]any{"url": issuer, "clientIdList": []any{audience}}}
	c.things[roleThing+" "+role] = &thing{asked: map[string]any{"assumeRolePolicy": fmt.Sprintf(
		`{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRoleWithWebIdentity","Principal":{"Federated":%q},"Condition":{"StringEquals":{%q:%q,%q:%q}}}]}`,
		identityARN(issuer), host+":aud", audience, host+":sub", subject)}}
}

// Know has the cloud read the keys of an issuer, as AWS does over the internet.
func (c *Cloud) Know(issuer string, client *kube.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.issuers == nil {
		c.issuers = map[string]*kube.Client{}
	}
	c.issuers[issuer] = client
}

// assume is STS: it returns nil if a role may be assumed with a token.
func (c *Cloud) assume(ctx context.Context, arn, token string) error {
	issuer, err := issuerOf(token)
	if err != nil {
		return err
	}
	c.mu.Lock()
	client := c.issuers[issuer]
	known := c.identity(issuer)
	role := c.things[roleThing+" "+strings.TrimPrefix(arn, ARN(""))]
	c.mu.Unlock()
	switch {
	case !known || client == nil:
		return fmt.Errorf("InvalidIdentityToken: no OpenIDConnect provider found in your account for %s", issuer)
	case role == nil:
		return fmt.Errorf("AccessDenied: not authorized to perform sts:AssumeRoleWithWebIdentity on %s, which is not there", arn)
	}
	// The API server that signed it says whom it is of.
	review, err := client.Typed.AuthenticationV1().TokenReviews().Create(ctx, &authv1.TokenReview{Spec: authv1.TokenReviewSpec{Token: token, Audiences: []string{audience}}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !review.Status.Authenticated {
		return fmt.Errorf("InvalidIdentityToken: %s", review.Status.Error)
	}
	policy, _ := role.asked["assumeRolePolicy"].(string)
	if err := trusts(policy, issuer, review.Status.User.Username); err != nil {
		return fmt.Errorf("AccessDenied: not authorized to perform sts:AssumeRoleWithWebIdentity on %s: %w", arn, err)
	}
	return nil
}

// identity reports whether there is an identity provider of an issuer; the caller has the lock.
func (c *Cloud) identity(issuer string) bool {
	for name, t := range c.things {
		if strings.HasPrefix(name, identityThing+" ") && t.asked["url"] == issuer && names(t.asked["clientIdList"], audience) {
			return true
		}
	}
	return false
}

func issuerOf(token string) (string, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return "", errors.New("InvalidIdentityToken: expected three parts")
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", fmt.Errorf("InvalidIdentityToken: %w", err)
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	return claims.Issuer, json.Unmarshal(text, &claims)
}

// trusts returns nil if a trust policy lets a subject of an issuer in.
func trusts(policy, issuer, subject string) error {
	var document struct {
		Statement []struct {
			Effect, Action string
			Principal      struct{ Federated string }
			Condition      struct{ StringEquals map[string]string }
		}
	}
	if err := json.Unmarshal([]byte(policy), &document); err != nil {
		return fmt.Errorf("MalformedPolicyDocument: %w", err)
	}
	host := strings.TrimPrefix(issuer, "https://")
	for _, s := range document.Statement {
		if s.Effect == "Allow" && s.Action == "sts:AssumeRoleWithWebIdentity" && s.Principal.Federated == identityARN(issuer) &&
			maps.Equal(s.Condition.StringEquals, map[string]string{host + ":aud": audience, host + ":sub": subject}) {
			return nil
		}
	}
	return fmt.Errorf("no statement trusts %s of %s", subject, issuer)
}

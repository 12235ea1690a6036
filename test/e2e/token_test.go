package e2e

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"strings"
	"testing"
	"time"

	authv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/e2e/internal/testcluster"
)

// tokenClaims are those of a ServiceAccount's token.
type tokenClaims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Issued   int64    `json:"iat"`
	Expires  int64    `json:"exp"`
}

// token is one that the cluster's API server mints for a ServiceAccount; without an audience it is
// for the API server itself.
func (m *fluxEngine) token(t *testing.T, c *testcluster.Cluster, namespace, account, audience string) string {
	t.Helper()
	seconds := int64(600)
	request := &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	if audience != "" {
		request.Spec.Audiences = []string{audience}
	}
	var token string
	m.eventually(t, "a token of "+namespace+"/"+account, func() string { // default is made a moment after its namespace
		response, err := c.Client.Typed.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
		if err != nil {
			return err.Error()
		}
		token = response.Status.Token
		return ""
	})
	return token
}

// claims are what a token says, whoever signed it.
func claims(t *testing.T, token string) tokenClaims {
	t.Helper()
	var c tokenClaims
	must(t, json.Unmarshal(tokenPart(t, token, 1), &c))
	return c
}

func tokenPart(t *testing.T, token string, i int) []byte {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("a token has %d parts; expected 3", len(parts))
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[i])
	must(t, err)
	return text
}

// expired is a token as it will be once it has expired: the same claims but for the time, signed
// with the API server's own key. A token lives ten minutes at least, which no test waits for.
func expired(t *testing.T, keyFile, token string) string {
	t.Helper()
	var all map[string]any
	must(t, json.Unmarshal(tokenPart(t, token, 1), &all))
	for claim, ago := range map[string]time.Duration{"exp": time.Minute, "iat": 11 * time.Minute, "nbf": 11 * time.Minute} {
		all[claim] = time.Now().Add(-ago).Unix()
	}
	body, err := json.Marshal(all)
	must(t, err)
	text, err := os.ReadFile(keyFile)
	must(t, err)
	block, _ := pem.Decode(text)
	key, err := x509.ParseECPrivateKey(block.Bytes)
	must(t, err)
	header, _, _ := strings.Cut(token, ".")
	signed := header + "." + base64.RawURLEncoding.EncodeToString(body)
	digest := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
	must(t, err)
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

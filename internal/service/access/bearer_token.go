package access

import (
	"net/http"
	"strings"
)

// BearerToken returns the token of a request's Authorization header (RFC 6750), or "".
func BearerToken(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

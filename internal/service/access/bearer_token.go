package access

import (
	"net/http"
	"strings"
)

// BearerToken is the token of a request's Authorization header (RFC 6750), empty without one.
func BearerToken(r *http.Request) string {
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(value)
}

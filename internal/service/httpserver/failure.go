package httpserver

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Failure is a refused request.
type Failure struct {
	Code    int
	Message string
	// Hint says what the reader can do about it.
	Hint   string
	Header map[string]string
	// Cause is logged instead of the message, if set.
	Cause string
}

// Status returns the text of the status code.
func (f *Failure) Status() string { return http.StatusText(f.Code) }

// Body returns the JSON object from which Argo CD takes the condition's text.
func (f *Failure) Body() []byte {
	return Encode(struct {
		Message string `json:"message"`
	}{f.Message})
}

// Denial returns an error of access as 403, nil for none.
func Denial(err error) *Failure {
	if err == nil {
		return nil
	}
	return &Failure{Code: http.StatusForbidden, Message: err.Error()}
}

// Unauthorized returns 401 with the challenge that it needs.
func Unauthorized(message string) *Failure {
	return &Failure{Code: http.StatusUnauthorized, Message: message, Header: map[string]string{"WWW-Authenticate": "Bearer"}}
}

// Busy returns 429 with the time after which to retry.
func Busy(retry time.Duration, message string) *Failure {
	seconds := strconv.Itoa(max(1, int(math.Ceil(retry.Seconds()))))
	return &Failure{Code: http.StatusTooManyRequests, Message: message, Header: map[string]string{"Retry-After": seconds}}
}

// Encode returns v as JSON without HTML escaping, with a newline at the end.
func Encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) //nolint:forbidigo // plain types of ours
	}
	return b.Bytes()
}

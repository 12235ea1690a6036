package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
	"testing"
	"time"
)

// witness stands between Argo CD and the service, and remembers when each ApplicationSet asked last
// and the response it got. What it hands on it does not change; a service that is gone is an error
// to Argo CD as it is without it.
type witness struct {
	url string

	mu       sync.Mutex
	asked    map[string]asked
	total    int           // requests
	errs     int           // of them not answered with parameter sets
	answered chan struct{} // closed at the next answer
}

// asked is an ApplicationSet's last question.
type asked struct {
	began    time.Time
	question []byte
	answer   [sha256.Size]byte // its digest
	good     bool              // answered with parameter sets
}

// witnesses starts a witness before a service; it ends with the test.
func witnesses(t *testing.T, service string) *witness {
	t.Helper()
	target, err := url.Parse(service)
	must(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	w := &witness{url: "http://" + listener.Addr().String(), asked: map[string]asked{}, answered: make(chan struct{})}
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.pass(proxy, rw, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return w
}

// pass hands a question on.
func (w *witness) pass(proxy http.Handler, rw http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var question struct{ ApplicationSetName string }
	_ = json.Unmarshal(body, &question) // what has no name is nobody's
	r.Body = io.NopCloser(bytes.NewReader(body))
	copied := &copyWriter{ResponseWriter: rw, code: http.StatusOK}
	complete := false
	defer func() {
		w.note(question.ApplicationSetName, asked{began, body, digestOf(copied.body.Bytes()), complete && copied.code < 300})
	}()
	proxy.ServeHTTP(copied, r) // panics when the service breaks off: so does the answer to Argo CD
	complete = true
}

func (w *witness) note(name string, a asked) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total++
	if !a.good {
		w.errs++
	}
	if w.asked[name].began.Before(a.began) {
		w.asked[name] = a
	}
	close(w.answered)
	w.answered = make(chan struct{})
}

// since names those of some ApplicationSets that have not been answered to what they asked after a
// time, and counts the others that were refused.
func (w *witness) since(began time.Time, sets []string) (pending []string, refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range sets {
		switch a := w.asked[name]; {
		case a.began.Before(began):
			pending = append(pending, name)
		case !a.good:
			refused++
		}
	}
	return pending, refused
}

// next is closed at the next answer.
func (w *witness) next() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered
}

func (w *witness) count() (total, errs int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total, w.errs
}

// copyWriter remembers what is answered.
type copyWriter struct {
	http.ResponseWriter

	code int
	body bytes.Buffer
}

func (c *copyWriter) WriteHeader(code int) {
	c.code = code
	c.ResponseWriter.WriteHeader(code)
}

func (c *copyWriter) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

// revisions are in each parameter set, and make no difference to the Applications of this fleet.
var revisions = regexp.MustCompile(`"revision":"[0-9a-f]{40}"`)

func digestOf(answer []byte) [sha256.Size]byte {
	return sha256.Sum256(revisions.ReplaceAll(answer, nil))
}

// differing puts the last question of each of some ApplicationSets to the service again, and names
// those that would be answered differently now. One that would be refused is not among them but
// counted: Argo CD does nothing upon an error.
func (w *witness) differing(sets []string, ask func(question []byte) (code int, answer []byte, err error)) (differ []string, refused int, err error) {
	for _, name := range sets {
		w.mu.Lock()
		last, known := w.asked[name]
		w.mu.Unlock()
		if !known {
			differ = append(differ, name)
			continue
		}
		code, answer, err := ask(last.question)
		switch {
		case err != nil:
			return nil, 0, err
		case code >= 300:
			refused++
		case !last.good || last.answer != digestOf(answer):
			differ = append(differ, name)
		}
	}
	return differ, refused, nil
}

// get is the body of an address, whatever its status is.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	return io.ReadAll(response.Body)
}

// Package browser drives Chromium through the pages of the real service (make browser).
//
//  1. It is a module of its own: nothing of the product depends on a browser.
//  2. The service is bin/generator-plugin, with a fleet in a folder of the test.
//  3. Every page is looked at for errors of scripts, refused content and foreign requests.
package browser

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var (
	screenshots = flag.String("screenshots", "", "folder to write the documentation's pictures to")
	gallery     = flag.String("gallery", "", "folder to write a picture of every page to, in both themes and three widths")
)

const (
	token   = "a-token-of-the-browser-tests"
	patient = 45 * time.Second
)

// allocator starts one Chromium for all tests.
var allocator context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			options = append(options, chromedp.ExecPath(path))
			break
		}
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	browser, end := chromedp.NewContext(ctx)
	allocator = browser //nolint:fatcontext // one browser for all tests
	if err := chromedp.Do(allocator); err != nil {
		fmt.Fprintln(os.Stderr, "Chromium does not start:", err)
		os.Exit(1)
	}
	code := m.Run()
	end()
	cancel()
	os.Exit(code)
}

// service is a running service with pages.
type service struct {
	folder, address string
	api             string // the address of the service's own listener
	process         *os.Process
}

// serve starts the service on files, on the fleet of this repository if it is nil. A --source among
// the options is served in their place.
func serve(t *testing.T, files map[string]string, options ...string) *service {
	t.Helper()
	s := &service{folder: t.TempDir()}
	if files == nil && !slices.Contains(options, "--source") {
		for _, name := range []string{"fleet", "addons", "resources", "versions", "charts"} {
			if err := os.CopyFS(filepath.Join(s.folder, name), os.DirFS(filepath.Join("../..", name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, text := range files {
		s.write(t, name, text)
	}
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	options = append([]string{
		"--source", s.folder, "--hub", "hub-eu", "--token-file", secret, "--listen", "127.0.0.1:0", "--web-addr", "127.0.0.1:0",
		"--web-source-url", "https://git.example.com/fleet/{revision}/{file}#L{line}",
	}, options...)
	cmd := exec.Command("../../bin/generator-plugin", options...)
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v; make browser builds the service first", err)
	}
	s.process = cmd.Process
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address, api, serving := regexp.MustCompile(`pages at (http://\S+)`), regexp.MustCompile(`msg=listening address=(\S+)`), false
	lines := bufio.NewScanner(out)
	for (s.address == "" || !serving) && lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			s.address = m[1]
		}
		if m := api.FindStringSubmatch(lines.Text()); m != nil {
			s.api = m[1]
		}
		serving = serving || strings.Contains(lines.Text(), "msg=serving") || strings.Contains(lines.Text(), "refused")
	}
	if s.address == "" {
		t.Fatal("the service has no pages")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return s
}

func (s *service) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gitFleet is a Git repository with the fleet of this repository. The function returned commits a
// file and pushes, as a forge's webhook says.
func gitFleet(t *testing.T) (location string, push func(s *service, file, text string)) {
	t.Helper()
	folder := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=Jo Doe", "-c", "user.email=jo@example.com", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	for _, name := range []string{"fleet", "addons", "resources", "versions", "charts"} {
		if err := os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join("../..", name))); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet", "--initial-branch=main")
	git("add", "--all")
	git("commit", "--quiet", "--message", "the fleet")
	return "file://" + folder, func(s *service, file, text string) {
		t.Helper()
		(&service{folder: folder}).write(t, file, text)
		git("add", "--all")
		git("commit", "--quiet", "--message", "change "+filepath.Base(file))
		r, err := http.NewRequest(http.MethodPost, s.api+"/api/v1/webhook", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("webhook: %s", resp.Status)
		}
	}
}

// step is something that a reader does.
type step = chromedp.Action[chromedp.Void]

// tab is a tab of the browser with cookies of its own.
type tab struct {
	context.Context
	t *testing.T
	*service
	mu       sync.Mutex
	problems []string
}

// open opens a tab, and fails the test for errors of scripts, refused content and foreign requests.
func open(t *testing.T, s *service, first ...step) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(allocator, chromedp.WithNewBrowserContext())
	b := &tab{t: t, service: s}
	if err := chromedp.Do(ctx); err != nil { // opens the tab
		t.Fatal(err)
	}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatal(err)
	}
	var cancel context.CancelFunc
	b.Context, cancel = context.WithTimeout(ctx, 6*patient)
	t.Cleanup(func() {
		cancel()
		end()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Error(p)
		}
	})
	b.do(append([]step{enable}, first...)...)
	return b
}

// enable makes the browser report what listen looks for.
func enable(ctx context.Context, t *chromedp.Target) (none chromedp.Void, err error) {
	_, err = cdp.Call(ctx, t, network.Enable, network.EnableParams{})
	if err == nil {
		_, err = cdp.Call(ctx, t, log.Enable, cdp.Empty{})
	}
	return none, err
}

// listen collects what no page may cause.
func (b *tab) listen(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, fmt.Sprint(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Source == "security" || e.Entry.Source == "violation" {
			b.problems = append(b.problems, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.address+"/") {
			b.problems = append(b.problems, "a request to "+e.Request.URL)
		}
	}
}

func (b *tab) do(steps ...step) {
	b.t.Helper()
	if err := chromedp.Do(b, steps...); err != nil {
		where, _ := chromedp.Run(b, chromedp.Location())
		body, _ := chromedp.Run(b, chromedp.Text(chromedp.CSS("body")))
		b.t.Fatalf("%v at %s: %.600s", err, where, body)
	}
}

// signIn signs in by the form, and lands on a page.
func (b *tab) signIn(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.address+path), chromedp.WaitVisible(chromedp.CSS("form.signin")), chromedp.SendKeys(chromedp.CSS("input[name=token]"), token+"\r"), chromedp.WaitVisible(chromedp.CSS("nav[aria-label=Pages]")))
	b.until(loaded)
}

// visit goes to a page.
func (b *tab) visit(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.address+path), chromedp.WaitVisible(chromedp.CSS("main")))
}

// loaded is true when a page is whole: a part of it may have what a test looks for before.
const loaded = "document.readyState === 'complete'"

// shows waits until the whole page is there and has a text.
func (b *tab) shows(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q) && %s", text, loaded))
}

// at waits until the address has a path and parameters.
func (b *tab) at(path string) {
	b.t.Helper()
	b.until(fmt.Sprintf("location.pathname + location.search === %q && %s", path, loaded))
}

// until waits until an expression is true, over as many pages as it takes.
func (b *tab) until(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patient); ; time.Sleep(50 * time.Millisecond) {
		if is, err := chromedp.Run(b, chromedp.Evaluate[bool](expression)); err == nil && is {
			return
		}
		if time.Now().After(end) {
			where, _ := chromedp.Run(b, chromedp.Location())
			body, _ := chromedp.Run(b, chromedp.Text(chromedp.CSS("body")))
			b.t.Fatalf("never %s at %s: %.600s", expression, where, body)
		}
	}
}

// value is an expression's value.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// follow follows a link as soon as it is there, wherever it has to be scrolled to.
func (b *tab) follow(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q) !== null && %s", selector, loaded))
	b.leave(fmt.Sprintf("document.querySelector(%q).click()", selector))
}

// leave has the page carry out what leads to another one. It is done after the answer, which the
// browser loses with the page.
func (b *tab) leave(statement string) {
	b.t.Helper()
	value[int](b, fmt.Sprintf("setTimeout(() => { %s })", statement))
}

// views are the pages, each with something to look at.
var views = []string{
	"/", "/?by=tenant", "/component?group=addons&component=cert-manager", "/cluster?hub=hub-eu&cluster=retail-prod-eu-1",
	"/why?hub=hub-eu&cluster=retail-prod-eu-1&group=addons&component=external-dns", "/held", "/rollouts", "/calendar", "/outliers", "/timeline", "/timeline?hub=hub-eu&cluster=retail-prod-eu-1", "/plan",
	"/compare?a=hub-eu%2Fretail-prod-eu-1&b=hub-eu%2Fretail-dev-eu-1", "/find?path=replicas", "/nosuch",
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/argosy-hub/argosy/internal/access"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/server"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// flags are the command line, checked for its form.
type flags struct {
	source, ref, credentials, stateDir string
	stateIn, stateNamespace            string
	interval                           time.Duration
	hub, facts, namespace, kubeconfig  string
	fluxNamespace                      string
	grants, grantsNamespace            string
	refreshSets                        bool
	pluginConfigMap                    string
	listen, tokenFile                  string
	tokensFile, tokensDir              string
	tokenRate, failureRate             float64
	tokenBurst, failureBurst           int
	tlsCert, tlsKey, tlsClientCA       string
	maxRequest, maxResponse            int64
	maxConcurrent, maxConnections      int
	maxWebhook                         int64
	drainDelay                         time.Duration
	logFormat, logLevel                string
	version                            bool
}

const usage = `generator-plugin serves a fleet's repository to Argo CD's plugin generator.

  generator-plugin --source DIR --hub NAME --token-file FILE
  generator-plugin --source URL --ref main --hub NAME --token-file FILE --facts kubernetes

Flags:
`

// parse reads the command line. Help goes to out.
func parse(args []string, out io.Writer) (*flags, error) {
	f := &flags{}
	fs := flagSet(f)
	if err := fs.Parse(join(args)); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			help(fs, out)
		}
		return nil, twoDashes(err)
	}
	if f.version {
		return f, nil
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	err := f.check()
	if f.stateIn != kubernetesState && f.stateIn != "" {
		f.stateDir = f.stateIn
	}
	return f, err
}

// flagSet are the flags with their defaults; what is parsed goes into f.
func flagSet(f *flags) *flag.FlagSet {
	fs := flag.NewFlagSet("generator-plugin", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&f.source, "source", "", "the fleet's repository: a `folder`, which is watched, or a Git URL (required)")
	fs.StringVar(&f.ref, "ref", "main", "branch, tag or commit of a Git `source`")
	fs.DurationVar(&f.interval, "interval", time.Minute, "how often a Git source is asked for something new")
	fs.StringVar(&f.credentials, "git-credentials", "", "`folder` with the files username and password, or identity and known_hosts")
	fs.StringVar(&f.stateDir, "state-dir", "", "`folder` that survives a restart: the Git mirror, and what was accepted and answered last; without it, all are lost")
	fs.StringVar(&f.stateIn, "state", "", "where what was accepted, answered and known last is kept: kubernetes, in ConfigMaps that replicas share, or a `folder`, as --state-dir; default: --state-dir")
	fs.StringVar(&f.stateNamespace, "state-namespace", "", "`namespace` of these ConfigMaps, with --state kubernetes; default: the pod's own")
	fs.StringVar(&f.hub, "hub", "", "`name` of the hub whose members are served (required)")
	fs.StringVar(&f.facts, "facts", "none", "what is known of clusters: kubernetes, none, or a `file` of kind Facts")
	fs.StringVar(&f.namespace, "namespace", "argocd", "namespace of Argo CD: its cluster Secrets, Applications and ApplicationSets, with --facts kubernetes")
	fs.BoolVar(&f.refreshSets, "refresh-applicationsets", true, "with --facts kubernetes: make Argo CD ask at once for the ApplicationSets whose answer has changed")
	fs.StringVar(&f.pluginConfigMap, "plugin-configmap", "generator-plugin", "`name` of the ConfigMap by which ApplicationSets refer to this service")
	fs.StringVar(&f.fluxNamespace, "flux-namespace", "", "`namespace` of Flux: its HelmReleases and Kustomizations are watched, so that an artifact can remove what is to go in two steps; without it, everything stays")
	fs.StringVar(&f.grants, "grants", "", "`name` of the member whose engine is answered: a group of its own is answered only while its hub's grant is there, and is held until the engine has nothing of it; without it, Git alone says whose it is")
	fs.StringVar(&f.grantsNamespace, "grants-namespace", "", "`namespace` that the hub delivers the member's grants to, with --grants")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "`file` to reach the API server with; default: KUBECONFIG, the pod's service account, ~/.kube/config")
	fs.StringVar(&f.listen, "listen", server.DefaultListen, "`address` to listen on")
	fs.StringVar(&f.tokenFile, "token-file", "", "`file` with the bearer token that may ask everything (required); read again when it changes")
	fs.StringVar(&f.tokensFile, "tokens-file", "", "YAML `file` of kind Tokens: tokens that may ask some things; read again when it changes")
	fs.StringVar(&f.tokensDir, "tokens-dir", "", "`folder` with the files that hold the tokens of --tokens-file; looked at again every second")
	fs.Float64Var(&f.tokenRate, "token-rate", access.DefaultRate, "`requests` a second with one token, after --token-burst; beyond, a short wait, then 429")
	fs.IntVar(&f.tokenBurst, "token-burst", access.DefaultBurst, "`requests` at once with one token before --token-rate counts")
	fs.Float64Var(&f.failureRate, "failure-rate", access.DefaultFailureRate, "`requests` a second without a good token from one address, after --failure-burst; beyond, 429")
	fs.IntVar(&f.failureBurst, "failure-burst", access.DefaultFailureBurst, "`requests` at once without a good token from one address before --failure-rate counts")
	fs.StringVar(&f.tlsCert, "tls-cert", "", "PEM `file` of the certificate; with --tls-key the service speaks HTTPS; read again when it changes")
	fs.StringVar(&f.tlsKey, "tls-key", "", "PEM `file` of the certificate's key")
	fs.StringVar(&f.tlsClientCA, "tls-client-ca", "", "PEM `file` of authorities: clients have to present a certificate of one, but for probes and metrics; read again when it changes")
	fs.Int64Var(&f.maxRequest, "max-request-bytes", server.DefaultMaxRequestBytes, "largest request, in `bytes`")
	fs.Int64Var(&f.maxResponse, "max-response-bytes", server.DefaultMaxResponseBytes, "largest answer, in `bytes`; beyond, 503")
	fs.Int64Var(&f.maxWebhook, "max-webhook-bytes", server.DefaultMaxWebhookBytes, "largest body of a signed webhook, in `bytes`")
	fs.IntVar(&f.maxConnections, "max-connections", server.DefaultMaxConnections, "how many connections are open at once; beyond, the one that has waited for longest is closed")
	fs.IntVar(&f.maxConcurrent, "max-concurrent", server.DefaultMaxConcurrent, "how many requests are worked on at once; beyond, 429 after a short wait")
	fs.DurationVar(&f.drainDelay, "drain-delay", 0, "how long to go on answering after a signal, while /readyz already says 503")
	fs.StringVar(&f.logFormat, "log-format", "text", "text or json")
	fs.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	fs.BoolVar(&f.version, "version", false, "print the version and leave")
	return fs
}

// join makes one argument of `--source git URL`.
func join(args []string) []string {
	for i, a := range args {
		if (a == "--source" || a == "-source") && i+2 < len(args) && args[i+1] == "git" && !strings.HasPrefix(args[i+2], "-") {
			return append(append(append([]string{}, args[:i+1]...), args[i+2]), args[i+3:]...)
		}
		if (a == "--source=git" || a == "-source=git") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			return append(append(append([]string{}, args[:i]...), "--source="+args[i+1]), args[i+2:]...)
		}
	}
	return args
}

// twoDashes writes flags as the documentation does.
func twoDashes(err error) error {
	text := err.Error()
	for _, before := range []string{"for flag -", "not defined: -", "needs an argument: -"} {
		text = strings.Replace(text, before+"-", before, 1)
		text = strings.Replace(text, before, before+"-", 1)
	}
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func help(fs *flag.FlagSet, out io.Writer) {
	fmt.Fprint(out, usage)
	fs.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		fmt.Fprintf(out, "  %-28s %s", strings.TrimRight("--"+f.Name+" "+name, " "), text)
		if f.DefValue != "" && f.DefValue != "0s" && f.DefValue != "false" {
			fmt.Fprintf(out, " (default %s)", f.DefValue)
		}
		fmt.Fprintln(out)
	})
}

// check tells what is missing or contradicts itself.
func (f *flags) check() error {
	for _, required := range [][2]string{{"source", f.source}, {"hub", f.hub}, {"token-file", f.tokenFile}} {
		if required[1] == "" {
			return fmt.Errorf("--%s is required", required[0])
		}
	}
	switch {
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return errors.New("--tls-cert and --tls-key belong together")
	case f.tlsClientCA != "" && f.tlsCert == "":
		return errors.New("--tls-client-ca needs --tls-cert and --tls-key")
	case (f.tokensFile == "") != (f.tokensDir == ""):
		return errors.New("--tokens-file and --tokens-dir belong together")
	case !(f.tokenRate > 0):
		return fmt.Errorf("--token-rate %g; expected more than 0", f.tokenRate)
	case f.tokenBurst <= 0:
		return fmt.Errorf("--token-burst %d; expected at least 1", f.tokenBurst)
	case !(f.failureRate > 0):
		return fmt.Errorf("--failure-rate %g; expected more than 0", f.failureRate)
	case f.failureBurst <= 0:
		return fmt.Errorf("--failure-burst %d; expected at least 1", f.failureBurst)
	case f.stateIn != "" && f.stateIn != kubernetesState && f.stateDir != "" && f.stateDir != f.stateIn:
		return errors.New("--state and --state-dir name two folders; expected one, or --state kubernetes")
	case f.stateNamespace != "" && f.stateIn != kubernetesState:
		return errors.New("--state-namespace needs --state kubernetes")
	case (f.grants == "") != (f.grantsNamespace == ""):
		return errors.New("--grants and --grants-namespace belong together")
	case f.grants != "" && f.facts != kubernetesFacts && f.fluxNamespace == "":
		return errors.New("--grants needs --facts kubernetes or --flux-namespace: else nobody knows what the engine has")
	case f.facts == "":
		return errors.New("--facts is empty; expected kubernetes, none or a file")
	case f.pluginConfigMap == "":
		return errors.New("--plugin-configmap is empty; expected the name that ApplicationSets have in plugin.configMapRef")
	case f.maxRequest <= 0:
		return fmt.Errorf("--max-request-bytes %d; expected at least 1", f.maxRequest)
	case f.maxResponse <= 0:
		return fmt.Errorf("--max-response-bytes %d; expected at least 1", f.maxResponse)
	case f.maxWebhook <= 0:
		return fmt.Errorf("--max-webhook-bytes %d; expected at least 1", f.maxWebhook)
	case f.maxConnections < server.MinConnections:
		return fmt.Errorf("--max-connections %d; expected at least %d", f.maxConnections, server.MinConnections)
	case f.maxConcurrent <= 0:
		return fmt.Errorf("--max-concurrent %d; expected at least 1", f.maxConcurrent)
	case f.interval <= 0:
		return fmt.Errorf("--interval %s; expected more than nothing", f.interval)
	case f.drainDelay < 0:
		return fmt.Errorf("--drain-delay %s; expected 0s or more", f.drainDelay)
	case f.logFormat != "text" && f.logFormat != "json":
		return fmt.Errorf("--log-format %q; expected text or json", f.logFormat)
	}
	var level slog.Level
	if level.UnmarshalText([]byte(f.logLevel)) != nil {
		return fmt.Errorf("--log-level %q; expected debug, info, warn or error", f.logLevel)
	}
	return nil
}

// captured has the client libraries' log set once: it is the whole process's, and they read it without a lock.
var captured sync.Once

// options opens what the flags name.
func (f *flags) options(stderr io.Writer) (server.Options, error) {
	log := f.logger(stderr)
	captured.Do(func() { hub.CaptureLogs(log) })
	o := server.Options{
		Hub: f.hub, Listen: f.listen, TokenFile: f.tokenFile, TLSCert: f.tlsCert, TLSKey: f.tlsKey, TLSClientCA: f.tlsClientCA,
		TokensFile: f.tokensFile, TokensDir: f.tokensDir, TokenRate: f.tokenRate, TokenBurst: f.tokenBurst,
		FailureRate: f.failureRate, FailureBurst: f.failureBurst,
		MaxRequestBytes: f.maxRequest, MaxResponseBytes: f.maxResponse, MaxConcurrent: f.maxConcurrent,
		MaxWebhookBytes: f.maxWebhook, MaxConnections: f.maxConnections,
		DrainDelay: f.drainDelay, Logger: log,
	}
	var err error
	if o.Facts, o.ApplicationSets, err = f.known(log); err != nil {
		return o, err
	}
	if err := f.held(&o, log); err != nil {
		return o, err
	}
	if err := f.state(&o); err != nil {
		return o, err
	}
	o.Source, err = location.Open(git.Options{
		Location: f.source, Ref: f.ref, Interval: f.interval, StateDir: f.stateDir, Credentials: f.credentials,
	})
	return o, err
}

func (f *flags) logger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(f.logLevel)) // checked
	o := &slog.HandlerOptions{Level: level}
	if f.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}

// version is written by the linker (-X main.version=v1.2.3).
var version string

func versionText() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
	}
	if v == "" || v == "(devel)" {
		v = "devel"
	}
	return fmt.Sprintf("generator-plugin %s %s %s/%s", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

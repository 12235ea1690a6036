package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-hub/argosy/internal/base/snapshot"
	"github.com/argosy-hub/argosy/internal/hub"
	"github.com/argosy-hub/argosy/internal/service/checks"
	"github.com/argosy-hub/argosy/internal/service/liveness"
	"github.com/argosy-hub/argosy/internal/service/server"
	"github.com/argosy-hub/argosy/internal/source"
	"github.com/argosy-hub/argosy/internal/source/git"
	"github.com/argosy-hub/argosy/internal/source/location"
)

// flags holds the command line, and the objects that it names.
type flags struct {
	server.Options // from its own flags, then completed by open
	repository     git.Options
	layout         string
	// mountCredentials are the folders of the credentials that the layout's mounts name.
	mountCredentials []string
	// mountTurns has the repositories of mounts fetch one after another: each may take much memory.
	mountTurns chan struct{}

	stateDir, stateIn, stateNamespace, stateKeys string
	facts, namespace, kubeconfig                 string
	fluxNamespace                                string
	grants, grantsNamespace                      string
	refreshSets                                  bool
	pluginConfigMap                              string
	log                                          logFlags
	auditLog                                     string
	web                                          webFlags
	rolloutCheckHosts                            []string
	// statuses are what the hub's engine reports, which the facts watch; nil if the facts are not
	// from it.
	statuses *hub.Statuses
	// prober knows which members respond; nil without probes.
	prober  *liveness.Prober
	members func() map[string]string
	// healthCheck reports whether the hub's Argo CD assesses grants; nil for an agent, or without
	// Kubernetes.
	healthCheck *hub.HealthCheck
}

// newCommand makes the command. It validates the flags before serve opens anything.
func newCommand(f *flags, serve func(context.Context) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "generator-plugin --source REPOSITORY --hub NAME --token-file FILE",
		Short: "Serves a fleet's repository to Argo CD's plugin generator",
		Example: `  generator-plugin --source DIR --hub NAME --token-file FILE
  generator-plugin --source URL --ref main --hub NAME --token-file FILE --facts kubernetes`,
		Version:       versionText(),
		Args:          noArguments,
		SilenceErrors: true,
		SilenceUsage:  true,
		PreRunE: func(*cobra.Command, []string) error {
			if err := f.validate(); err != nil {
				return err
			}
			if f.stateIn != kubernetesState && f.stateIn != "" {
				f.stateDir = f.stateIn
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context()) },
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	f.register(cmd.Flags())
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.SetHelpCommand(&cobra.Command{Hidden: true})
	return cmd
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q", args[0])
	}
	return nil
}

// register adds the flags with their defaults.
func (f *flags) register(fs *pflag.FlagSet) {
	f.Options = server.Defaults()
	fs.StringVar(&f.repository.Location, "source", "", "the fleet's repository: a `folder`, which is watched, or a Git URL (required)")
	fs.StringVar(&f.repository.Ref, "ref", "main", "branch, tag or whole commit id of a Git `source`; in full (refs/tags/v1) if the name is a tag and a branch")
	fs.StringVar(&f.repository.Credentials, "git-credentials", "", "`folder` with the files username and password, a GitHub App's files, or identity and known_hosts")
	fs.StringVar(&f.repository.Signers, "source-signers", "", "`file` of allowed signers (ssh-keygen(1)) of a Git source: only commits that one of them signed by ssh are served; without it, all are")
	fs.StringVar(&f.layout, "layout", "", "a `file` to read at start instead of fleet/layout.yaml of every revision; to try a layout before a commit")
	fs.DurationVar(&f.repository.Interval, "interval", time.Minute, "how often a Git source is polled")
	fs.StringArrayVar(&f.mountCredentials, "mount-credentials", nil, "credentials that a mount of the layout names, a folder as --git-credentials: `NAME=DIR`, may be repeated")
	fs.StringVar(&f.stateDir, "state-dir", "", "`folder` that survives a restart: the Git mirror, and the last accepted snapshot and responses; without it, all are lost")
	fs.StringVar(&f.stateIn, "state", "", "where the last accepted snapshot, responses and facts are stored: kubernetes, in ConfigMaps that replicas share, or a `folder`, as --state-dir; default: --state-dir")
	fs.StringVar(&f.stateNamespace, "state-namespace", "", "`namespace` of these ConfigMaps, with --state kubernetes; default: the pod's own")
	fs.StringVar(&f.stateKeys, "state-keys-file", "", "`file` with keys, one a line: the service signs its state with the first, and uses only state that one of them signed; without it, state is not signed")
	fs.StringVar(&f.Hub, "hub", "", "`name` of the hub whose members are served (required)")
	fs.StringVar(&f.facts, "facts", "none", "where the facts of clusters come from: kubernetes, none, or a `file` of kind Facts")
	fs.StringVar(&f.namespace, "namespace", "argocd", "namespace of Argo CD: its cluster Secrets, Applications and ApplicationSets, with --facts kubernetes")
	fs.BoolVar(&f.refreshSets, "refresh-applicationsets", true, "with --facts kubernetes: make Argo CD refresh the ApplicationSets whose response has changed")
	fs.StringVar(&f.pluginConfigMap, "plugin-configmap", "generator-plugin", "`name` of the ConfigMap by which ApplicationSets refer to this service")
	fs.StringVar(&f.fluxNamespace, "flux-namespace", "", "`namespace` of Flux: the service watches its HelmReleases and Kustomizations, so an artifact can remove components in two steps; without it, all stay")
	fs.StringVar(&f.grants, "grants", "", "`name` of the member whose engine queries: it gets its own group only by its hub's ownership grant, and keeps the grant while the engine has workloads of the group; without it, only Git decides who owns a group")
	fs.StringVar(&f.grantsNamespace, "grants-namespace", "", "`namespace` that the hub delivers the member's ownership grants to, with --grants")
	fs.StringVar(&f.kubeconfig, "kubeconfig", "", "`file` to reach the API server with; default: KUBECONFIG, the pod's service account, ~/.kube/config")
	fs.StringVar(&f.Listen, "listen", f.Listen, "`address` to listen on")
	fs.StringVar(&f.TokenFile, "token-file", "", "`file` with the bearer token that may query everything (required); read again when it changes")
	fs.StringVar(&f.TokensFile, "tokens-file", "", "YAML `file` of kind Tokens: tokens with their scopes; read again when it changes")
	fs.StringVar(&f.TokensDir, "tokens-dir", "", "`folder` with the files that hold the tokens of --tokens-file; read again every second")
	fs.Float64Var(&f.TokenRate, "token-rate", f.TokenRate, "`requests` a second with one token, after --token-burst; beyond, a short wait, then 429")
	fs.IntVar(&f.TokenBurst, "token-burst", f.TokenBurst, "`requests` at once with one token before --token-rate counts")
	fs.Float64Var(&f.FailureRate, "failure-rate", f.FailureRate, "`requests` a second without a good token, after --failure-burst; beyond, 429")
	fs.IntVar(&f.FailureBurst, "failure-burst", f.FailureBurst, "`requests` at once without a good token before --failure-rate counts")
	fs.StringVar(&f.TLSCert, "tls-cert", "", "PEM `file` of the certificate; with --tls-key the service speaks HTTPS; read again when it changes")
	fs.StringVar(&f.TLSKey, "tls-key", "", "PEM `file` of the certificate's key")
	fs.StringVar(&f.TLSClientCA, "tls-client-ca", "", "PEM `file` of authorities: clients have to present a certificate of one, except for probes and metrics; read again when it changes")
	fs.Int64Var(&f.MaxRequestBytes, "max-request-bytes", f.MaxRequestBytes, "largest request, in `bytes`")
	fs.Int64Var(&f.MaxResponseBytes, "max-response-bytes", f.MaxResponseBytes, "largest response, in `bytes`; beyond, 503")
	fs.Int64Var(&f.MaxWebhookBytes, "max-webhook-bytes", f.MaxWebhookBytes, "largest body of a signed webhook, in `bytes`")
	fs.IntVar(&f.MaxConnections, "max-connections", f.MaxConnections, "how many connections are open at once; beyond, a new one waits")
	fs.IntVar(&f.MaxConcurrent, "max-concurrent", f.MaxConcurrent, "how many requests run at once; beyond, 429 after a short wait")
	fs.DurationVar(&f.DrainDelay, "drain-delay", f.DrainDelay, "how long to serve after a signal, while /readyz already says 503")
	fs.StringSliceVar(&f.rolloutCheckHosts, "rollout-check-host", nil, "`host` that rollout checks may query, by https or as an origin such as http://prometheus.monitoring:9090; may be repeated; default: none, and a ring with checks waits")
	f.log.register(fs)
	fs.StringVar(&f.auditLog, "audit-log", "", "`file` that gets one line of JSON for each request, rotated secret and used approval; - is standard output; default: none")
	f.web.register(fs)
	fs.Bool("version", false, "print the version and exit") // cobra looks it up
}

// normalize turns `--source git URL` into one argument, and one dash into two: only -h is a short
// flag.
func normalize(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if name, is := strings.CutPrefix(a, "-"); is && len(name) > 1 && name[0] >= 'a' && name[0] <= 'z' {
			args[i] = "-" + a
		}
	}
	for i, a := range args {
		if a == "--source" && i+2 < len(args) && args[i+1] == "git" && !strings.HasPrefix(args[i+2], "-") {
			return slices.Delete(args, i+1, i+2)
		}
		if a == "--source=git" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			return slices.Replace(args, i, i+2, "--source="+args[i+1])
		}
	}
	return args
}

// validate reports flags that are missing or contradict each other.
func (f *flags) validate() error {
	if f.repository.Location == "" {
		return errors.New("--source is required")
	}
	if err := f.Validate(); err != nil {
		return err
	}
	switch {
	case f.stateIn != "" && f.stateIn != kubernetesState && f.stateDir != "" && f.stateDir != f.stateIn:
		return errors.New("--state and --state-dir name two folders; expected one, or --state kubernetes")
	case f.stateNamespace != "" && f.stateIn != kubernetesState:
		return errors.New("--state-namespace needs --state kubernetes")
	case f.stateKeys != "" && f.stateIn == "" && f.stateDir == "":
		return errors.New("--state-keys-file needs --state or --state-dir")
	case (f.grants == "") != (f.grantsNamespace == ""):
		return errors.New("--grants and --grants-namespace belong together")
	case f.grants != "" && f.facts != kubernetesFacts && f.fluxNamespace == "":
		return errors.New("--grants needs --facts kubernetes or --flux-namespace: without them the service cannot see what the engine has")
	case f.facts == "":
		return errors.New("--facts is empty; expected kubernetes, none or a file")
	case f.pluginConfigMap == "":
		return errors.New("--plugin-configmap is empty; expected the name that ApplicationSets have in plugin.configMapRef")
	case f.repository.Interval <= 0:
		return fmt.Errorf("--interval %s; expected more than nothing", f.repository.Interval)
	case f.repository.Signers != "" && !git.IsURL(f.repository.Location) && !git.IsBareRepository(f.repository.Location):
		return errors.New("--source-signers needs a Git repository as --source: a folder has no signatures")
	}
	if _, err := location.Named("--mount-credentials", f.mountCredentials); err != nil {
		return err
	}
	return f.log.validate()
}

// captured guards the client libraries' logger, which is set once: it belongs to the whole process,
// and they read it without a lock.
var captured sync.Once

// open opens the files, the source and the clusters that the flags name.
func (f *flags) open(stdout, stderr io.Writer) (server.Options, error) {
	log := f.log.logger(stderr)
	captured.Do(func() { hub.CaptureLogs(log) })
	f.Logger = log
	o := f.Options
	var err error
	if o.Audit, err = openAudit(f.auditLog, stdout); err != nil {
		return o, err
	}
	if o.Facts, o.ApplicationSets, err = f.openFacts(log); err != nil {
		return o, err
	}
	if err := f.addGrants(&o, log); err != nil {
		return o, err
	}
	if err := f.state(&o); err != nil {
		return o, err
	}
	layout, err := readLayout(f.layout)
	if err != nil {
		return o, err
	}
	client, err := checks.New(f.rolloutCheckHosts)
	if err != nil {
		return o, fmt.Errorf("--rollout-check-host: %w", err)
	}
	o.RolloutCheck = client.Look
	if f.healthCheck != nil {
		o.GrantHealth = f.healthCheck.Missing
	}
	if f.facts == kubernetesFacts && f.web.probeInterval > 0 {
		f.prober = liveness.New(liveness.Options{Members: func() map[string]string { return f.members() }, Interval: f.web.probeInterval})
		o.Silent = f.prober.Failing
	}
	o.Mounts, f.mountTurns = f.openMount, make(chan struct{}, 1)
	if f.grants != "" && git.IsURL(f.repository.Location) {
		o.Revision = f.readRevision
	}
	if o.Source, err = f.openSource(); err != nil {
		return o, err
	}
	o.Source = withLayout(o.Source, layout)
	return o, nil
}

// openSource opens the repository.
func (f *flags) openSource() (source.Source, error) {
	repository := f.repository
	repository.StateDir = f.stateDir
	return location.Open(repository)
}

// readRevision reads a commit of the repository into a mirror of its own: an agent's hub may have
// announced a commit that no poll has seen.
func (f *flags) readRevision(ctx context.Context, commit string) (*snapshot.Snapshot, error) {
	o := f.repository
	o.Ref, o.StateDir = commit, ""
	if f.stateDir != "" { // within the volume's limit; what an ended process has left is removed
		pod, err := os.Hostname()
		if err != nil {
			return nil, err
		}
		o.StateDir = filepath.Join(f.stateDir, "announced", pod)
		if err := errors.Join(os.RemoveAll(o.StateDir), os.MkdirAll(o.StateDir, 0o700)); err != nil {
			return nil, fmt.Errorf("the mirror of an announced revision: %w", err)
		}
		defer func() { _ = os.RemoveAll(o.StateDir) }()
	}
	repository, err := git.New(o)
	if err != nil {
		return nil, err
	}
	s, err := repository.Snapshot(ctx)
	return s, errors.Join(err, repository.Close())
}

// version is set by the linker (-X main.version=v1.2.3).
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

// Package container runs the containers of Deployments as processes of this machine, as a kubelet
// would: no container runtime is here, and KWOK only says that pods run.
//
//		p, err := container.Start(ctx, o, deployment.Spec.Template.Spec.Containers[0])
//
//	 1. A program of this machine takes the place of the image. Arguments and environment are the
//	    container's; what depends on a node, as GOMAXPROCS of a limit, is left out.
//	 2. The process has a root folder of its own with the program, the Secrets that the container mounts,
//	    its ServiceAccount's token, and the files of Options. So it logs in to the API server as in a
//	    pod, with the rights of its ServiceAccount.
//	 3. It has a network of its own: it may listen where it wants, and only the ports of
//	    Options.Publish can be reached. Services have the addresses of Options.Services.
//	 4. A Secret that is not there or empty is an error: the caller tries again, as a kubelet does.
package container

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	authv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-hub/argosy/test/e2e/internal/controlplane"
	"github.com/argosy-hub/argosy/test/e2e/internal/kube"
	"github.com/argosy-hub/argosy/test/e2e/internal/process"
)

const (
	accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenLife  = 24 * 60 * 60
)

// Options say what to run, and what surrounds it. Group, Cluster, Client, Namespace, Pod and
// Program are required.
type Options struct {
	Group     *process.Group
	Cluster   *controlplane.Cluster
	Client    *kube.Client
	Namespace string
	Pod       corev1.PodSpec
	// Name is the process's; default the container's.
	Name string
	// Program is the file that is run, Dir the folder for root folders.
	Program, Dir string
	// Files are put into the root folder, by their place there.
	Files map[string][]byte
	// Env overrides variables of the container.
	Env map[string]string
	// Services are names that the process may connect to: the port in there, and the machine's.
	Services map[string]Address
	// Forward are ports of the machine that the process may connect to, besides the API server's.
	Forward []int
	// Publish are ports of the machine, with those of the process.
	Publish map[int]int
	// Ready and ReadyLog are process.Spec's.
	Ready    func(ctx context.Context) error
	ReadyLog string
}

// Address is the port of a service, and the machine's port that serves it.
type Address struct{ Port, At int }

// Start runs a container of the pod.
func Start(ctx context.Context, o Options, c corev1.Container) (*process.Process, error) {
	if o.Name == "" {
		o.Name = c.Name
	}
	spec, err := o.specification(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("container %s of %s: %w", c.Name, o.Name, err)
	}
	return o.Group.Start(ctx, spec)
}

// Run runs a container of the pod to its end: one that comes before the others.
func Run(ctx context.Context, o Options, c corev1.Container) error {
	if o.Name == "" {
		o.Name = c.Name
	}
	spec, err := o.specification(ctx, c)
	if err != nil {
		return fmt.Errorf("container %s of %s: %w", c.Name, o.Name, err)
	}
	return o.Group.Run(ctx, spec)
}

func (o Options) specification(ctx context.Context, c corev1.Container) (process.Spec, error) {
	root := filepath.Join(o.Dir, o.Name)
	if err := os.RemoveAll(root); err != nil { // of an earlier start
		return process.Spec{}, err
	}
	api, err := url.Parse(o.Cluster.URL)
	if err != nil {
		return process.Spec{}, err
	}
	port, err := strconv.Atoi(api.Port())
	if err != nil {
		return process.Spec{}, fmt.Errorf("the API server's port: %w", err)
	}
	files, err := o.files(ctx, c)
	if err != nil {
		return process.Spec{}, err
	}
	for name, data := range files {
		if err := write(filepath.Join(root, name), data); err != nil {
			return process.Spec{}, err
		}
	}
	program := "/" + filepath.Base(o.Program)
	if err := copyFile(filepath.Join(root, program), o.Program); err != nil {
		return process.Spec{}, err
	}
	for _, dir := range append(o.emptyDirs(c), "/tmp") {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return process.Spec{}, err
		}
	}
	env, err := o.environment(c, map[string]string{"KUBERNETES_SERVICE_HOST": api.Hostname(), "KUBERNETES_SERVICE_PORT": api.Port(), "HOME": "/tmp"})
	if err != nil {
		return process.Spec{}, err
	}
	reach := map[int]int{}
	for _, s := range o.Services {
		reach[s.Port] = s.At
	}
	return process.Spec{
		Name: o.Name, Path: program, Args: slices.Concat(c.Command, c.Args), Env: env, Root: root,
		Forward: append([]int{port}, o.Forward...), Reach: reach, Publish: o.Publish, Ready: o.Ready, ReadyLog: o.ReadyLog,
	}, nil
}

// files are those of the root folder but the program, by their place.
func (o Options) files(ctx context.Context, c corev1.Container) (map[string][]byte, error) {
	account := o.Pod.ServiceAccountName
	if account == "" {
		account = "default"
	}
	expiry := int64(tokenLife)
	token, err := o.Client.Typed.CoreV1().ServiceAccounts(o.Namespace).CreateToken(ctx, account, &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{ExpirationSeconds: &expiry}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of ServiceAccount %s: %w", account, err)
	}
	hosts := "127.0.0.1 localhost\n"
	for _, name := range slices.Sorted(maps.Keys(o.Services)) {
		hosts += "127.0.0.1 " + name + "\n"
	}
	files := map[string][]byte{
		"/etc/hosts": []byte(hosts), accountDir + "/token": []byte(token.Status.Token), accountDir + "/ca.crt": o.Cluster.CAData, accountDir + "/namespace": []byte(o.Namespace),
	}
	maps.Copy(files, o.Files)
	for _, mount := range c.VolumeMounts {
		volume := o.volume(mount.Name)
		if volume.Secret == nil {
			continue
		}
		secret, err := o.Client.Typed.CoreV1().Secrets(o.Namespace).Get(ctx, volume.Secret.SecretName, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if len(secret.Data) == 0 {
			return nil, fmt.Errorf("the Secret %s is empty", secret.Name)
		}
		for key, data := range secret.Data {
			files[filepath.Join(mount.MountPath, key)] = data
		}
	}
	return files, nil
}

// emptyDirs are the folders of the container that begin empty.
func (o Options) emptyDirs(c corev1.Container) (dirs []string) {
	for _, mount := range c.VolumeMounts {
		if o.volume(mount.Name).EmptyDir != nil {
			dirs = append(dirs, mount.MountPath)
		}
	}
	return dirs
}

func (o Options) volume(name string) corev1.Volume {
	i := slices.IndexFunc(o.Pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return corev1.Volume{}
	}
	return o.Pod.Volumes[i]
}

// environment is the container's with further variables.
func (o Options) environment(c corev1.Container, more map[string]string) ([]string, error) {
	all := maps.Clone(more)
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			all[e.Name] = e.Value
		case from.ResourceFieldRef != nil: // of a node
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			all[e.Name] = o.Namespace
		case from.FieldRef != nil && from.FieldRef.FieldPath == "spec.serviceAccountName":
			all[e.Name] = o.Pod.ServiceAccountName
		default:
			return nil, fmt.Errorf("variable %s: its value is of no kind that is known here: expected a text, the namespace or the ServiceAccount", e.Name)
		}
	}
	maps.Copy(all, o.Env)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, strings.Join([]string{name, all[name]}, "="))
	}
	return out, nil
}

func write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// copyFile links a program, or copies it from another file system.
func copyFile(to, from string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}

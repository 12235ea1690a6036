package charts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// tokenVolume is the volume with the ServiceAccount's token, "" for none.
func tokenVolume(pod corev1.PodSpec) string {
	for _, v := range pod.Volumes {
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil }) {
			return v.Name
		}
	}
	return ""
}

// hasToken reports whether the service's container mounts the ServiceAccount's token, and no other.
func hasToken(pod corev1.PodSpec) bool {
	volume := tokenVolume(pod)
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || volume == "" {
		return false
	}
	for _, c := range pod.Containers {
		mounts := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == volume && m.MountPath == "/var/run/secrets/kubernetes.io/serviceaccount"
		})
		if mounts != (c.Name == "generator-plugin") {
			return false
		}
	}
	return true
}

// C11: Git's container has the credentials for Git, and of the pod's volumes nothing else: no token
// of the ServiceAccount, no bearer token, no key, no state. The service's container has no
// credentials for Git. Both are restricted alike, and share one folder with the socket.
func TestGitRunsBesideNoToken(t *testing.T) {
	for name, values := range map[string]string{
		"hub": "source: {git: {credentialsSecret: fleet-git}}\n",
		"all": "source: {git: {credentialsSecret: fleet-git}}\nstate: {type: kubernetes, namespace: argosy-state, keysSecret: state-keys}\n" + tokensValues,
		"claim": "source: {git: {credentialsSecret: fleet-git}}\nreplicas: 1\nstate: {type: persistentVolumeClaim}\n" +
			"tls: {enabled: true, secretName: tls}\nextraVolumes: [{name: x, emptyDir: {}}]\nextraVolumeMounts: [{name: x, mountPath: /x}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, onHub, values), "").Spec.Template.Spec
			if !hasToken(pod) || len(pod.Containers) != 2 || len(pod.InitContainers) != 0 || pod.ShareProcessNamespace != nil {
				t.Fatalf("%+v", pod)
			}
			mounts := func(c corev1.Container) map[string]bool {
				out := map[string]bool{}
				for _, m := range c.VolumeMounts {
					out[m.Name] = !m.ReadOnly
				}
				return out
			}
			service, git := pod.Containers[0], pod.Containers[1]
			want := map[string]bool{"git-socket": true, "git-mirror": true, "git-tmp": true, "git": false}
			if diff := cmp.Diff(want, mounts(git)); diff != "" || git.Name != "git" || service.Name != "generator-plugin" {
				t.Errorf("Git's mounts, true where it may write (-want +got):\n%s", diff)
			}
			for volume, writable := range mounts(service) {
				if _, shared := want[volume]; shared && (volume != "git-socket" || writable) {
					t.Errorf("the service mounts %s, writable: %v", volume, writable)
				}
			}
			if diff := cmp.Diff(service.SecurityContext, git.SecurityContext); diff != "" || !*git.SecurityContext.ReadOnlyRootFilesystem || git.Image != service.Image || len(git.Ports) > 0 {
				t.Errorf("Git's container: %+v %s", git, diff)
			}
			if pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("pod: %+v", pod.SecurityContext)
			}
			all := strings.Join(git.Args, " ")
			for _, arg := range []string{"git --source=https://github.com/acme/fleet --ref=main", "--git-credentials=/etc/argosy/git", "--socket=/run/argosy-git/socket"} {
				if !strings.Contains(all, arg) {
					t.Errorf("Git's args %q; expected %s", all, arg)
				}
			}
			if args := strings.Join(service.Args, " "); strings.Contains(args, "--git-credentials") || !strings.Contains(args, "--git-socket=/run/argosy-git/socket") {
				t.Errorf("the service's args: %s", args)
			}
		})
	}
	pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, "hub: hub-eu\nsource: {volume: {persistentVolumeClaim: {claimName: fleet}}}\n"), "").Spec.Template.Spec
	if len(pod.Containers) != 1 || !hasToken(pod) {
		t.Errorf("a volume needs no Git: %+v", pod)
	}
	if pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, onHub, "facts: {from: none}\n"), "").Spec.Template.Spec; tokenVolume(pod) != "" {
		t.Error("facts: none needs no token")
	}
}

// What is for Git alone is not the service's, and the other way round.
func TestExtrasOfGit(t *testing.T) {
	pod := one[*appsv1.Deployment](t, rendering{}.objects(t, generatorPlugin, onHub, `
source:
  git:
    container:
      resources: {limits: {memory: 500Mi}}
      extraArgs: [--source-signers=/etc/signers/signers]
      extraEnv: [{name: https_proxy, value: http://proxy:3128}]
      extraVolumeMounts: [{name: signers, mountPath: /etc/signers, readOnly: true}]
extraEnv: [{name: OF_THE_SERVICE, value: x}]
extraVolumes: [{name: signers, configMap: {name: signers}}]
`), "").Spec.Template.Spec
	env := func(c corev1.Container) (out []string) {
		for _, e := range c.Env {
			out = append(out, e.Name+"="+e.Value)
		}
		return out
	}
	service, git := pod.Containers[0], pod.Containers[1]
	if diff := cmp.Diff([]string{"HOME=/tmp", "GOMEMLIMIT=200MiB", "https_proxy=http://proxy:3128"}, env(git)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"HOME=/tmp", "GOMEMLIMIT=819MiB", "OF_THE_SERVICE=x"}, env(service)); diff != "" {
		t.Error(diff)
	}
	if git.Args[len(git.Args)-1] != "--source-signers=/etc/signers/signers" || git.VolumeMounts[len(git.VolumeMounts)-1].Name != "signers" ||
		slices.ContainsFunc(service.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "signers" }) {
		t.Errorf("%+v", git)
	}
}

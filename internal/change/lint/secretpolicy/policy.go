package secretpolicy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/argosy-hub/argosy/charts"
)

// Policy holds the rules that the values of charts/fleet-policies set.
type Policy struct {
	// Denies reports whether the API server refuses; else it warns.
	Denies bool

	values  values
	presets []preset
	hosts   []string
	// addresses matches the addresses that are allowed beside the hosts' own; nil allows every
	// address.
	addresses *regexp.Regexp
	// servers matches the addresses of GitHub Apps' servers; nil allows every one.
	servers *regexp.Regexp
}

type values struct {
	ValidationActions []string
	Presets           []string
	Fleet             struct {
		Repositories []string
		Region       string
	}
	ClusterSecrets struct{ Forbidden []string }
	Repositories   struct {
		Hosts, Addresses, Types, Credentials, Forbidden, Kinds []string
	}
}

type preset struct {
	name                               string
	Forbidden, Credentials, Beginnings []string
	Addresses                          []string
	Hosts                              string
}

// New reads the values of the chart, over its defaults.
func New(over []byte) (*Policy, error) {
	p := &Policy{}
	for _, data := range [][]byte{charts.FleetPoliciesValues, over} {
		if err := yaml.Unmarshal(data, &p.values); err != nil { // lists replace, as Helm's
			return nil, fmt.Errorf("values of charts/fleet-policies: %w", err)
		}
	}
	all := map[string]preset{}
	if err := yaml.Unmarshal(charts.FleetPoliciesPresets, &all); err != nil {
		return nil, fmt.Errorf("presets of charts/fleet-policies: %w", err)
	}
	for _, name := range p.values.Presets {
		one, known := all[name]
		if !known {
			return nil, fmt.Errorf("charts/fleet-policies has no preset %q", name)
		}
		one.name = name
		p.presets = append(p.presets, one)
	}
	p.Denies = slices.Contains(p.values.ValidationActions, "Deny")
	return p, p.allow()
}

// host finds the host of an address: of a URL, or in the form git@host:path.
var host = regexp.MustCompile(`^(?:[a-z+]+://)?(?:[^/@]*@)?([a-z0-9][-a-z0-9.]*(?::[0-9]+)?)(?:[/:].*)?$`)

// allow finds the addresses that are allowed.
func (p *Policy) allow() error {
	hosts, addresses := slices.Clone(p.values.Repositories.Hosts), slices.Clone(p.values.Repositories.Addresses)
	isRestricted, region := len(hosts)+len(addresses) > 0, ""
	for _, one := range p.presets {
		isRestricted = isRestricted || one.Hosts != "" || one.Addresses != nil
		if one.Hosts != "" {
			for _, address := range p.values.Fleet.Repositories {
				if address != "" {
					hosts = append(hosts, host.ReplaceAllString(address, "$1"))
				}
			}
		}
		if one.Addresses != nil {
			if region = p.values.Fleet.Region; region == "" {
				return fmt.Errorf("the preset %s needs fleet.region", one.name)
			}
		}
		for _, address := range one.Addresses {
			addresses = append(addresses, strings.ReplaceAll(address, "{region}", region))
		}
	}
	if !isRestricted {
		return nil
	}
	p.hosts = slices.Concat(hosts, addresses)
	for _, text := range p.hosts {
		if region != "" && strings.Contains(text, ".amazonaws.com") && !strings.Contains(text, "."+region+".amazonaws.com") {
			return fmt.Errorf("%s is a host of AWS in another region than fleet.region %s", text, region)
		}
	}
	var forms, servers []string
	for _, h := range hosts {
		servers = append(servers, "https://"+h+"/")
		forms = append(forms, "https://"+h+"/", "ssh://git@"+h+"/", "oci://"+h+"/", h+"/")
		if !strings.Contains(h, ":") {
			forms = append(forms, "git@"+h+":")
		}
	}
	var err error
	if p.addresses, err = beginnings(append(forms, addresses...)); err != nil {
		return err
	}
	p.servers, err = beginnings(append(servers, addresses...))
	return err
}

// beginnings matches texts that begin with one of several, and nothing without any.
func beginnings(all []string) (*regexp.Regexp, error) {
	if len(all) == 0 {
		return regexp.MustCompile(`[^\s\S]`), nil
	}
	quoted := make([]string, len(all))
	for i, text := range all {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(text), `\{account\}`, "[0-9]{12}")
	}
	return regexp.Compile("^(" + strings.Join(quoted, "|") + ")")
}

// Server returns why the server of a GitHub App is refused and what is expected, or empty strings
// for an allowed one.
func (p *Policy) Server(address string) (found, expected string) {
	if address == "" || p.servers == nil || p.servers.MatchString(address) {
		return "", ""
	}
	return address + " is at none of the allowed hosts", "https:// and one of " + strings.Join(p.hosts, ", ")
}

// Kind returns why a kind of repository Secret is refused and what is expected, or empty strings
// for an allowed one.
func (p *Policy) Kind(kind string) (found, expected string) {
	if slices.Contains(p.values.Repositories.Kinds, kind) {
		return "", ""
	}
	return "is of the kind " + kind, "one of " + strings.Join(p.values.Repositories.Kinds, ", ")
}

// Repository returns why a repository's Secret with an address and keys is refused and what is
// expected, or empty strings for an allowed one. The address is empty if the repository does not
// state it.
func (p *Policy) Repository(address string, keys []string) (found, expected string) {
	if address != "" && p.addresses != nil && !p.addresses.MatchString(address) {
		return fmt.Sprintf("%s is at none of the allowed hosts", address), "one of " + strings.Join(p.hosts, ", ") + ", as https://HOST/..., ssh://git@HOST/... or git@HOST:..."
	}
	for _, allowed := range append([]preset{{Credentials: p.values.Repositories.Credentials}}, p.presets...) {
		if allowed.Credentials == nil && allowed.name != "" {
			continue
		}
		for _, key := range keys {
			if slices.Contains(credentials, key) && !slices.Contains(allowed.Credentials, key) {
				return "has the credential " + key + by(allowed.name), "one of " + strings.Join(allowed.Credentials, ", ")
			}
		}
		if address != "" && allowed.Beginnings != nil && !slices.ContainsFunc(allowed.Beginnings, func(b string) bool { return strings.HasPrefix(address, b) }) {
			return address + " is of another form" + by(allowed.name), "an address that begins with " + strings.Join(allowed.Beginnings, " or ")
		}
	}
	for _, key := range p.values.Repositories.Forbidden {
		if slices.Contains(keys, key) {
			return "has the key " + key + ", which takes away what protects the credential on its way", "none"
		}
	}
	return "", ""
}

// by names the preset that refuses.
func by(name string) string {
	if name == "" {
		return ""
	}
	return ", which the preset " + name + " refuses"
}

// credentials lists the keys of a repository's Secret that hold a credential.
var credentials = []string{"password", "bearerToken", "sshPrivateKey", "tlsClientCertKey", "githubAppPrivateKey", "gcpServiceAccountKey", "useAzureWorkloadIdentity"}

// IsForbidden reports whether no cluster's connection settings may have a key. Argo CD reads keys
// in any case.
func (p *Policy) IsForbidden(key string) bool {
	is := func(of string) bool { return strings.EqualFold(of, key) }
	return slices.ContainsFunc(p.values.ClusterSecrets.Forbidden, is) ||
		slices.ContainsFunc(p.presets, func(one preset) bool { return slices.ContainsFunc(one.Forbidden, is) })
}

// Package sbom writes what a program and its image consist of as SPDX 2.3.
package sbom

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/argosy-hub/argosy/hack/release/debs"
)

// Write is the document of a program: every Go module of any of the binaries, as Go has written
// them into each, and every Debian package of the image.
func Write(program, version string, created time.Time, binaries []string, pins []debs.Pin) ([]byte, error) {
	packages := map[string]*v2_3.Package{}
	for _, file := range binaries {
		info, err := buildinfo.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		add(packages, "stdlib", info.GoVersion, "pkg:golang/stdlib@"+strings.TrimPrefix(info.GoVersion, "go"), "")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(packages, m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version, "")
		}
	}
	for _, p := range pins {
		purl := "pkg:deb/debian/" + p.Name + "@" + p.Version + "?arch=" + p.Arch + "&distro=debian-12"
		add(packages, p.Name, p.Version, purl, p.SHA256)
	}
	d := v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      program + "-" + version,
		DocumentNamespace: "https://github.com/argosy-hub/argosy/releases/download/" + version + "/" + program + ".spdx.json",
		CreationInfo: &v2_3.CreationInfo{
			Created:  created.UTC().Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "argosy-hub"}, {CreatorType: "Tool", Creator: "argosy-release"}},
		},
	}
	root := &v2_3.Package{
		PackageName: program, PackageVersion: version, PackageSPDXIdentifier: "Package-" + common.ElementID(program),
		PackageDownloadLocation: "https://github.com/argosy-hub/argosy", PackageLicenseDeclared: "Apache-2.0",
		PackageLicenseConcluded: "Apache-2.0", PackageCopyrightText: "NOASSERTION",
	}
	d.Packages = []*v2_3.Package{root}
	d.Relationships = []*v2_3.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, root.PackageSPDXIdentifier)}
	for i, key := range slices.Sorted(maps.Keys(packages)) {
		p := packages[key]
		p.PackageSPDXIdentifier = common.ElementID(fmt.Sprintf("Package-%d", i))
		d.Packages = append(d.Packages, p)
		d.Relationships = append(d.Relationships, relation(root.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
	}
	return json.MarshalIndent(d, "", " ")
}

func add(packages map[string]*v2_3.Package, name, version, purl, sum string) {
	p := &v2_3.Package{
		PackageName: name, PackageVersion: version, PackageDownloadLocation: "NOASSERTION",
		PackageLicenseDeclared: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION", PackageCopyrightText: "NOASSERTION",
		PackageExternalReferences: []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl,
		}},
	}
	if sum != "" {
		p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	}
	packages[purl] = p
}

func relation(a common.ElementID, kind string, b common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{RefA: common.MakeDocElementID("", string(a)), RefB: common.MakeDocElementID("", string(b)), Relationship: kind}
}

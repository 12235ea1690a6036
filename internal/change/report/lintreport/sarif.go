package lintreport

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/fleet"
)

// SARIF is a log in the Static Analysis Results Interchange Format, version 2.1.0 (OASIS), as far
// as Argosy uses it.
type SARIF struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool       sarifTool     `json:"tool"`
	Results    []sarifResult `json:"results"`
	ColumnKind string        `json:"columnKind"`
	Properties *sarifOmitted `json:"properties,omitempty"`
}

// sarifOmitted says how many results a run does not list.
type sarifOmitted struct {
	Omitted int `json:"omitted"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version,omitempty"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
	HelpURI          string    `json:"helpUri"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations,omitempty"`
	RelatedLocations    []sarifLocation   `json:"relatedLocations,omitempty"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	ID               int           `json:"id,omitempty"`
	PhysicalLocation sarifPhysical `json:"physicalLocation"`
	Message          *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

// helpURI is the address at which reasons are described, without the reason.
const helpURI = "https://github.com/argosy-hub/argosy/blob/main/docs/reference/problems.md#"

// NewSARIF converts a lint report to SARIF. The reasons of its findings are the rules.
func NewSARIF(r Report, version string) SARIF {
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name: "argosy", Version: version, InformationURI: "https://github.com/argosy-hub/argosy", Rules: []sarifRule{},
		}},
		Results: []sarifResult{}, ColumnKind: "unicodeCodePoints",
	}
	var ids []string
	for _, f := range r.Problems {
		ids = append(ids, string(f.Reason))
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	for _, id := range ids {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: id, ShortDescription: sarifText{strings.ReplaceAll(id, "-", " ")}, HelpURI: helpURI + id,
		})
	}
	for _, f := range r.Problems {
		run.Results = append(run.Results, resultOf(f, slices.Index(ids, string(f.Reason))))
	}
	if r.Summary.Omitted > 0 {
		run.Properties = &sarifOmitted{r.Summary.Omitted}
	}
	return SARIF{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

func resultOf(f problem.Finding, rule int) sarifResult {
	out := sarifResult{
		RuleID: string(f.Reason), RuleIndex: rule, Level: string(f.Severity),
		Message:             sarifText{strings.Join(append([]string{f.Message}, f.Hints...), "; ")},
		PartialFingerprints: map[string]string{"argosy/v1": fingerprint(f)},
	}
	if f.Pos.Repository != "" { // no file of the checkout: the layout names the mount
		out.Message.Text = f.Pos.String() + ": " + out.Message.Text
		f.Pos = problem.Pos{File: fleet.LayoutFile}
	}
	if !f.Pos.IsZero() {
		out.Locations = []sarifLocation{{PhysicalLocation: physical(f.Pos)}}
	}
	for i, p := range f.Related {
		if p.Repository != "" {
			continue
		}
		out.RelatedLocations = append(out.RelatedLocations, sarifLocation{
			ID: i + 1, PhysicalLocation: physical(p), Message: &sarifText{"takes part"},
		})
	}
	return out
}

// fingerprint identifies a finding from commit to commit, whatever its line.
func fingerprint(f problem.Finding) string {
	parts := []string{string(f.Reason), problem.Pos{Repository: f.Pos.Repository, File: f.Pos.File}.String(), f.Message, f.Hub, f.Cluster}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

func physical(p problem.Pos) sarifPhysical {
	parts := strings.Split(p.File, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	out := sarifPhysical{ArtifactLocation: sarifArtifact{URI: strings.Join(parts, "/"), URIBaseID: "%SRCROOT%"}}
	if p.Line > 0 {
		out.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
	}
	return out
}

// Package vuln compares what govulncheck finds in programs with the statements of an OpenVEX
// document (openvex.dev): each vulnerability whose code is in a program is argued there, or fixed.
package vuln

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
)

// Finding is a vulnerability of whose code something is in a program.
type Finding struct{ ID, Module, Version, Fixed, Symbol string }

func (f Finding) String() string {
	fixed := "no version fixes it"
	if f.Fixed != "" {
		fixed = "fixed in " + f.Fixed
	}
	return fmt.Sprintf("%s: %s@%s has %s (%s)", f.ID, f.Module, f.Version, f.Symbol, fixed)
}

// Read reads the output of govulncheck -format json. It keeps the findings that name a function:
// the others are of packages and modules of which no vulnerable code is in the program.
func Read(r io.Reader) ([]Finding, error) {
	found := map[string]Finding{}
	for d := json.NewDecoder(r); ; {
		var message struct {
			Finding *struct {
				OSV   string
				Fixed string `json:"fixed_version"`
				Trace []struct{ Module, Version, Package, Receiver, Function string }
			}
		}
		if err := d.Decode(&message); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("govulncheck's output: %w", err)
		}
		f := message.Finding
		if f == nil || len(f.Trace) == 0 || f.Trace[0].Function == "" {
			continue
		}
		if _, is := found[f.OSV]; !is {
			t := f.Trace[0]
			found[f.OSV] = Finding{f.OSV, t.Module, t.Version, f.Fixed, t.Package + "." + t.Function}
		}
	}
	var all []Finding
	for _, id := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[id])
	}
	return all, nil
}

type document struct {
	Statements []statement `json:"statements"`
}

type statement struct {
	Vulnerability struct {
		Name string `json:"name"`
	} `json:"vulnerability"`
	Status        string `json:"status"`
	Justification string `json:"justification"`
	Impact        string `json:"impact_statement"`
}

// Argued are the vulnerabilities that an OpenVEX document says do not concern the products, each
// with a reason and a sentence.
func Argued(file string) (map[string]bool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	argued := map[string]bool{}
	for _, s := range d.Statements {
		if s.Status != "not_affected" || s.Justification == "" || s.Impact == "" {
			return nil, fmt.Errorf("%s: %s: expected status not_affected, a justification and an impact_statement", file, s.Vulnerability.Name)
		}
		argued[s.Vulnerability.Name] = true
	}
	return argued, nil
}

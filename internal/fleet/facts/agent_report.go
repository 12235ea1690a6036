package facts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
)

const (
	// ReportAnnotation has the member's report on the group's components, as a link. Argo CD stores
	// annotations with this prefix in the status of the Application that delivers the grant
	// (status.summary.externalURLs; argo-cd v2.14 and v3.6, controller/cache/info.go). It stores
	// nothing else of the ConfigMap, unless it is configured to.
	ReportAnnotation = "link.argocd.argoproj.io/argosy-components"
	// reportTitle is the link's title, which begins the text.
	reportTitle = "components as the member reports them|"
	// reportLink ends with the version of the format. Time, checksum and report follow.
	reportLink = reportTitle + "https://github.com/argosy-hub/argosy/blob/main/docs/reference/agents.md#report-1;"
	// maxReport bounds a report: an object's annotations have 256 KiB.
	maxReport = 48 << 10
)

// GroupReport is what a member's service writes to a grant.
type GroupReport struct {
	// Rings is the RingsHealthAnnotation; empty for none.
	Rings string
	// Components is by FormatReport; empty for none.
	Components string
}

// ComponentReport says what a member's engine is answered for a component, and how healthy it is at
// that, in Argo CD's words: Unknown while the engine has not taken it.
type ComponentReport struct{ Component, Version, Health, Digest string }

// FormatReport returns a report as text. It leaves out the last components of a report that would
// be too long.
func FormatReport(all []ComponentReport) string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b ComponentReport) int { return strings.Compare(a.Component, b.Component) })
	out := "["
	for _, c := range all {
		text, err := json.Marshal([4]string{c.Component, c.Version, c.Health, c.Digest})
		if err != nil || len(out)+len(text) > maxReport {
			break
		}
		if len(out) > 1 {
			out += ","
		}
		out += string(text)
	}
	return inURL.Replace(out) + "]"
}

// inURL writes what a link cannot have as JSON's escapes.
var inURL = strings.NewReplacer("%", `\u0025`, "|", `\u007c`)

// SealReport returns the ReportAnnotation of a report.
func SealReport(report string, at time.Time) string {
	text := at.UTC().Format(time.RFC3339) + ";" + report
	return reportLink + checksum(text) + ";" + text
}

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}

// OpenReport returns the report in one of an Application's links, and when it was written. isReport
// is false for any other link. The error says why a report cannot be read.
func OpenReport(link string) (report string, at time.Time, isReport bool, err error) {
	if !strings.HasPrefix(link, reportTitle) {
		return "", time.Time{}, false, nil
	}
	text, is := strings.CutPrefix(link, reportLink)
	if !is {
		return "", time.Time{}, true, errors.New("its report has a format that this version does not know")
	}
	sum, text, _ := strings.Cut(text, ";")
	written, report, _ := strings.Cut(text, ";")
	if at, err = time.Parse(time.RFC3339, written); err == nil {
		err = json.Unmarshal([]byte(report), new([][4]string))
	}
	if sum != checksum(text) || err != nil || len(report) > maxReport+1 {
		return "", time.Time{}, true, errors.New("its report is damaged")
	}
	return report, at, true, nil
}

// IsReported reports whether the member's service has ever reported on the group of a grant.
func (a Application) IsReported() bool { return a.Report != "" || a.Unheard != "" }

// Reported returns what the Application of a grant reports on a component; false for nothing.
func (a Application) Reported(component string) (ComponentReport, bool) {
	at := strings.Index(a.Report, `["`+component+`",`)
	if at < 0 {
		return ComponentReport{}, false
	}
	var c [4]string
	err := json.NewDecoder(strings.NewReader(a.Report[at:])).Decode(&c)
	return ComponentReport{c[0], c[1], c[2], c[3]}, err == nil
}

// Unhealthy names the components that the Application of a grant reports otherwise than healthy,
// the first three of them; empty for none.
func (a Application) Unhealthy() string {
	var all [][4]string
	if a.Report == "" || json.Unmarshal([]byte(a.Report), &all) != nil {
		return ""
	}
	var out []string
	for _, c := range all {
		if c[2] != "Healthy" && len(out) < 3 {
			out = append(out, c[0]+" is "+c[2])
		}
	}
	return strings.Join(out, ", ")
}

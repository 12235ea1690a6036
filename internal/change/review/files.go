package review

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/argosy-hub/argosy/internal/base/disk"
	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/pipeline"
	"github.com/argosy-hub/argosy/internal/change/plan"
	"github.com/argosy-hub/argosy/internal/change/report/lintreport"
	"github.com/argosy-hub/argosy/internal/change/report/planreport"
	"github.com/argosy-hub/argosy/internal/fleet/facts"
	"github.com/argosy-hub/argosy/internal/source"
)

// Files holds the files of a review by name: comment.md, plan.md, plan.html, lint.txt and
// lint.sarif.
type Files map[string][]byte

// CommentFile is the name of the comment.
const CommentFile = "comment.md"

// Options configure a review. All are required.
type Options struct {
	Repository pipeline.Repository
	// Base is the branch or commit to merge into.
	Base      string
	Facts     facts.Set
	Pipelines *pipeline.Pipelines
	// Lint returns the findings about the folder.
	Lint func() (lintreport.Report, error)
	// IsStrict has warnings count as well.
	IsStrict bool
	// Explain returns an error's text, and whether the change causes it.
	Explain func(error) (text string, isFinding bool)
	// Version is this program's.
	Version string
}

// Review lints a repository and plans its change. It reports whether the change has findings that
// count; an error means that nothing is known of it. A repository without a fleet has no lint.
func Review(ctx context.Context, o Options) (files Files, hasFindings bool, err error) {
	q := pipeline.Question{Head: "HEAD", Facts: o.Facts}
	if q.Base, err = o.Repository.MergeBase(ctx, o.Base); err != nil {
		return nil, false, err
	}
	snap, err := o.Repository.Snapshot(ctx, source.Limits{})
	if err != nil && snap == nil {
		return nil, false, err
	}
	isFleet, findings := pipeline.IsFleet(snap), ""
	files, err = Files{}, nil
	write := func(name string, to func(io.Writer) error) {
		var b bytes.Buffer
		if err == nil {
			err = to(&b)
			files[name] = b.Bytes()
		}
	}
	if isFleet {
		var l lintreport.Report
		if l, err = o.Lint(); err != nil {
			return nil, false, err
		}
		write("lint.txt", func(w io.Writer) error { return lintreport.Write(report.PrintableWriter{W: w}, l, report.Style{}) })
		write("lint.sarif", func(w io.Writer) error { return report.WriteJSON(w, lintreport.NewSARIF(l, o.Version)) })
		if hasFindings = l.Summary.Fails(o.IsStrict); !l.Summary.IsClean() {
			findings = string(files["lint.txt"])
		}
	}
	p, failed := o.Pipelines.Plan(ctx, q)
	why := ""
	if failed == nil {
		write("plan.md", func(w io.Writer) error {
			return planreport.WriteMarkdown(report.PrintableWriter{W: w}, p, planreport.MaxMarkdown)
		})
		write("plan.html", func(w io.Writer) error { return planreport.WriteHTML(w, p) })
	} else {
		var isFinding bool
		if why, isFinding = o.Explain(failed); !isFinding {
			return nil, false, failed
		}
		hasFindings = hasFindings || !isFleet // of a fleet, lint finds what is wrong with the change
	}
	hasFindings = hasFindings || slices.ContainsFunc(p.Problems, func(x planreport.Problem) bool {
		return x.Severity == problem.Error && x.Revision == plan.Head // a good change mends a broken base
	})
	files[CommentFile] = []byte(Comment(findings, string(files["plan.md"]), why))
	return files, hasFindings, err
}

// Write writes the folder at once. No link of a change leads it elsewhere.
func (f Files) Write(dir string) error {
	for at := dir; !filepath.IsAbs(dir) && at != "." && filepath.Base(at) != ".."; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s: %s is a link; expected a folder", dir, at)
		}
	}
	return disk.WriteFolder(dir, f)
}

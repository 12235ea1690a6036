package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/argosy-hub/argosy/internal/base/problem"
	"github.com/argosy-hub/argosy/internal/base/report"
	"github.com/argosy-hub/argosy/internal/change/factsfile"
	"github.com/argosy-hub/argosy/internal/change/report/lintreport"
	"github.com/argosy-hub/argosy/internal/change/review"
)

func newReview(o *options) *cobra.Command {
	var charts renderedCharts
	var without noFleet
	var out string
	var isStrict bool
	var factsFrom []string
	cmd := &cobra.Command{
		Use:   "review BASE",
		Short: "Review a change: its findings and its plan, as a comment",
		Long: `Review lints the folder, and plans from the commit where HEAD parted from BASE to HEAD. It needs no token.
review post shows what it writes in the pull or merge request.`,
		Example: `  argosy review origin/main
  argosy review origin/main --out review && argosy review post review/comment.md`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			// reviewed makes the files; its error means that nothing is known of the change.
			reviewed := func() (review.Files, bool, error) {
				f, err := factsfile.Read(factsFrom)
				if err := errors.Join(err, charts.check()); err != nil {
					return nil, false, err
				}
				pipelines, done, err := charts.pipelines(cmd.Context(), o, nil, without, f)
				if err != nil {
					return nil, false, err
				}
				defer done()
				return review.Review(cmd.Context(), review.Options{
					Repository: o.repo, Base: args[0], Facts: f, Pipelines: pipelines, Version: programVersion(), IsStrict: isStrict,
					Lint:    func() (lintreport.Report, error) { return o.lint(cmd.Context(), factsFrom, "") },
					Explain: errorText,
				})
			}
			files, hasFindings, err := reviewed()
			if err != nil {
				why, _ := errorText(err)
				files, err = review.Files{review.CommentFile: []byte(review.None(why))}, asFailure(err)
			}
			switch {
			case out != "":
				if failed := files.Write(out); failed != nil {
					return errors.Join(problem.Usage([]string{"nothing was written"}, "--out %w", failed), err)
				}
				fmt.Fprintf(report.PrintableWriter{W: cmd.OutOrStdout()}, "%s: %s\n", out, report.Count(len(files), "file"))
			case err == nil:
				_, err = cmd.OutOrStdout().Write(files[review.CommentFile])
			}
			if err == nil && hasFindings {
				err = &quiet{exitFindings}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "write the `folder` with comment.md, plan.md, plan.html, lint.txt and lint.sarif; default: the comment to standard output")
	cmd.Flags().BoolVar(&isStrict, "strict", false, "end with status 1 for warnings, too")
	factsFlag(cmd, &factsFrom)
	without.flags(cmd)
	charts.flags(cmd)
	cmd.AddCommand(newReviewPost())
	return cmd
}

// errorText returns a command's text for an error, and whether its exit status means findings.
func errorText(err error) (text string, isFinding bool) {
	var b bytes.Buffer
	status := writeError(report.PrintableWriter{W: &b}, err)
	return b.String(), status == exitFindings
}

// asFailure returns an error with the exit status of a failure: nothing has been reviewed.
func asFailure(err error) error {
	var f *problem.Failure
	if !errors.As(err, &f) {
		return err
	}
	out := *f
	out.Findings = false
	return &out
}

func newReviewPost() *cobra.Command {
	var request review.Request
	cmd := &cobra.Command{
		Use:   "post FILE",
		Short: "Show the comment of a review in its pull or merge request",
		Long: `Post writes the comment that argosy review has written, or updates it: on GitHub, Forgejo, Gitea, GitLab or
Azure DevOps, by the environment of their pipelines. It reads nothing of the change. Without the file, the
comment says that there is no review. The token is ARGOSY_REVIEW_TOKEN, by default the pipeline's own
(GITHUB_TOKEN, SYSTEM_ACCESSTOKEN).`,
		Example: "  argosy review post review/comment.md",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			forge, err := review.ForgeOf(os.Getenv)
			if err != nil {
				return err
			}
			if request.Number == 0 {
				request.Number = forge.Number
			}
			if request.Number <= 0 && (request.Head == "" || request.Commit == "") {
				return problem.Usage(nil, "no --number, and the pipeline does not run for a pull or merge request")
			}
			comment, err := review.Read(args[0])
			if err != nil {
				return problem.Usage(nil, "%w", err)
			}
			err = forge.Post(cmd.Context(), request, comment)
			if errors.Is(err, review.ErrOlder) {
				fmt.Fprintf(cmd.OutOrStdout(), "argosy: %v\n", err)
				return nil
			}
			return err
		},
	}
	cmd.Flags().IntVar(&request.Number, "number", 0, "the pull or merge request's number; default: the one whose pipeline runs")
	cmd.Flags().StringVar(&request.Head, "head", "", "on GitHub, in place of the number: its `OWNER:BRANCH`, with --commit")
	cmd.Flags().StringVar(&request.Commit, "commit", "", "the reviewed commit: the comment names it; of an older one nothing is posted")
	cmd.Flags().StringVar(&request.Run, "run", "", "the `URL` of the run with the whole review")
	return cmd
}

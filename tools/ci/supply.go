package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// checkLicenses compares what users link, and under which licences, with docs/licenses.csv, and
// fails for a licence that is not allowed.
func checkLicenses(r repository) error {
	folders, err := r.shippedModules()
	if err != nil {
		return err
	}
	var rows []string
	for _, folder := range folders {
		report, err := output(in(r.path(folder), r.tool("go-licenses"), "report", "./..."))
		if err != nil {
			return err
		}
		linked, err := licenseRows(report, folder)
		if err != nil {
			return err
		}
		rows = append(rows, linked...)
	}
	slices.Sort(rows)
	now := "module,licence,linked by\n" + strings.Join(rows, "\n") + "\n"
	if err := os.WriteFile(r.path("bin", "licenses.csv"), []byte(now), 0o600); err != nil {
		return err
	}
	if err := r.show(in(r.root, "diff", "docs/licenses.csv", "bin/licenses.csv")); err != nil {
		return fmt.Errorf("what is linked has changed: look at it, and copy bin/licenses.csv to docs/: %w", err)
	}
	if refused := slices.DeleteFunc(rows, allowed); len(refused) > 0 {
		return fmt.Errorf("licences that are not allowed: %s", refused)
	}
	return nil
}

// licenseRows returns the modules, licences and the folder of a report of go-licenses, without the
// modules of this repository.
func licenseRows(report, folder string) (rows []string, err error) {
	records, err := csv.NewReader(strings.NewReader(report)).ReadAll()
	for _, record := range records {
		if !strings.HasPrefix(record[0], modulePath) {
			rows = append(rows, record[0]+","+record[2]+","+folder)
		}
	}
	return rows, err
}

// allowed reports whether a row of docs/licenses.csv has a licence that users may be asked to accept.
// The example fleet has a Redis in memory for readers who have no other: miniredis, MIT, with two
// files of BSL-1.0 and Unlicense.
func allowed(row string) bool {
	return regexp.MustCompile(`,(MPL-2\.0|BSD-2-Clause|BSD-3-Clause|MIT|Apache-2\.0|ISC),|` +
		`,(BSL-1\.0|Unlicense),examples/fleet$`).MatchString(row)
}

// knownVulnerability is in testdata/vulnerable. A database that is missing or empty does not find it.
const knownVulnerability = "GO-2024-2947"

// checkVulnerabilities looks for known vulnerabilities in what users link. Without a database it
// checks nothing and passes, unless GOVULNDB names one.
func checkVulnerabilities(r repository) error {
	flags, ok := r.vulnerabilityDB()
	if !ok {
		r.printf("there is no vulnerability database that knows %s: nothing was checked\n", knownVulnerability)
		if os.Getenv("GOVULNDB") != "" {
			return errors.New("GOVULNDB names no database")
		}
		return nil
	}
	r.printf("the database %s finds %s in testdata/vulnerable\n", strings.Join(flags, " "), knownVulnerability)
	folders, err := r.shippedModules()
	for _, folder := range folders {
		args := append([]string{r.tool("govulncheck")}, flags...)
		err = errors.Join(err, r.show(in(r.path(folder), append(args, "./...")...)))
	}
	return err
}

// vulnerabilityDB returns the flags for the first database in which the known vulnerability is found:
// that of GOVULNDB or the public one, or a copy in ../shared/vulndb.
func (r repository) vulnerabilityDB() (flags []string, ok bool) {
	candidates := [][]string{nil}
	copied := r.path("..", "shared", "vulndb", "vulndb.tgz")
	if named := os.Getenv("GOVULNDB"); named != "" {
		candidates = [][]string{{"-db", named}}
	} else if r.show(in(r.path("bin"), "tar", "-xzf", copied)) == nil {
		candidates = append(candidates, []string{"-db", "file://" + r.path("bin", "vulndb")})
	}
	for _, flags := range candidates {
		args := append([]string{"timeout", "60", r.tool("govulncheck")}, append(flags, ".")...)
		_, err := output(in(r.path("testdata", "vulnerable"), args...)) // which fails if it finds something
		if err != nil && strings.Contains(err.Error(), knownVulnerability) {
			return flags, true
		}
	}
	return nil, false
}

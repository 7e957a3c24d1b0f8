# Prints where Go files break the rules on size of CONTRIBUTING.md. Run it in the locale C.

FNR == 1 { start = 0; is_test = FILENAME ~ /_test\.go$/ }
FNR == 331 { print FILENAME ": the file has more than 330 lines" }
is_test { next }

# Columns: a tab counts as four, a letter of several bytes as one.
{ gsub(/\t/, "    "); gsub(/[\200-\277]/, "") }
length > 120 && !/^\/\/go:/ { print FILENAME ":" FNR ": the line has " length " columns, not 120" }

# A comment, except instructions to tools, preformatted text such as a table, and addresses.
length > 100 && /^ *\/\// && !/^ *\/\/(go:|    )|:\/\// {
  print FILENAME ":" FNR ": the comment has " length " columns, not 100"
}

# A function begins with func at the left edge, and ends with the next brace there.
/^[a-z]/ { start = /^func / ? FNR : 0 }
/^}/ && start && FNR - start >= 40 {
  print FILENAME ":" start ": the function has " FNR - start + 1 " lines, not 40"
}

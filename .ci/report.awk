# Reads the events of `go test -json` and prints what `go test` would: one line for each package and the
# whole output of each test that failed. It adds a line to the file skips for each test that was skipped: package,
# test, reason.

# value returns the string field key of the event, still escaped.
function value(key) {
  if (!match($0, "\"" key "\":\"([^\"\\\\]|\\\\.)*\"")) return ""
  return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
}

function text(s) {
  gsub(/\\n/, "\n", s)
  gsub(/\\t/, "\t", s)
  gsub(/\\"/, "\"", s)
  gsub(/\\u003c/, "<", s)
  gsub(/\\u003e/, ">", s)
  gsub(/\\u0026/, "\\&", s)
  gsub(/\\\\/, "\\", s)
  return s
}

{
  action = value("Action")
  test = value("Test")
  key = value("Package") SUBSEP test
  line = text(value("Output"))
}
action == "build-output" { printf "%s", line }
action == "output" {
  if (test == "" && line ~ /^(ok|\?) /) printf "%s", line
  else if (line !~ /^=== /) output[key] = output[key] line
}
action == "fail" { printf "%s", output[key] }
action == "skip" && test != "" {
  reason = output[key]
  gsub(/[\n\t ]+/, " ", reason)
  print value("Package") " " test " " reason >>skips
}
action ~ /^(fail|pass|skip)$/ { delete output[key] }

# Prints what TAP::Parser reads of a file: each failed test with its diagnostics, then the counts.
use strict;
use warnings;
use TAP::Parser;

my $parser = TAP::Parser->new({ source => $ARGV[0] });
my $last = '';
while (my $result = $parser->next) {
    if ($result->is_test && !$result->is_actual_ok) { print 'failed ', $result->description, "\n"; }
    if ($result->is_yaml) {
        my $data = $result->data;
        print "verdict $data->{verdict}\n", map { "  $_\n" } split /\n/, $data->{explanation};
    }
}
printf "%d run, %d failed, %d errors in the file\n", $parser->tests_run, scalar($parser->failed), scalar($parser->parse_errors);

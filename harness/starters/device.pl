#!/usr/bin/perl
# The device of device.py in Perl (package perl): it attaches over exec: and passes its first case, 5.3.2/dut-server.
# The subs of "the port" answer one Connection Setup (5.3.2) in class 3; replace them by your implementation.
use strict;
use warnings;
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->canonical;
my $port;    # undef before the first reset

sub say_to_suite { print $json->encode({jsonrpc => "2.0", @_}), "\n" }
sub result       { my ($id, %members) = @_; say_to_suite(id => $id, result => {%members}) }
sub failure      { my ($id, $code, $why) = @_; say_to_suite(id => $id, error => {code => $code, message => $why}) }

# ---- the port ----

sub handle { pack("N", 0x100 + $_[0]) }

sub become {
    my ($vi, $state) = @_;
    $port->{vis}[$vi]{state} = $state;
    say_to_suite(method => "state", params => {vi => $vi, state => $state});
}

sub send_frame {
    my ($rqst, $f_ctl, $count, $to, $opcode, $payload) = @_;
    my $frame = "\x03" . pack("H6", $port->{peer_id}) . "\0" . pack("H6", $port->{id}) . "\x58" . substr(pack("N", $f_ctl), 1);
    $frame .= pack("CCn", $count, 2, $count);    # SEQ_ID, DF_CTL: Device_Header of 32 bytes, SEQ_CNT
    $frame .= substr($rqst, 16, 2) . "\x00\x07" . "\0" x 4;    # OX_ID of the request, our RX_ID, Parameter
    my $retry = (ord(substr($rqst, 29, 1)) >> 4 & 1) << 2;    # FCVI_FLAGS: RETRY is that of the request (5.9.4.5)
    $frame .= $to . pack("CCx2", $opcode, $retry) . "\0" x 20 . substr($rqst, 52, 4) . $payload;
    say_to_suite(method => "frame", params => {hex => unpack("H*", $frame)});
}

sub connect_rqst {
    my ($frame) = @_;
    my $host = unpack("H*", substr($frame, 220, 16));
    my $discriminator = unpack("H*", substr($frame, 236, ord(substr($frame, 219, 1))));
    for my $place (0 .. $#{$port->{waiting}}) {
        my ($id, $local) = @{$port->{waiting}[$place]};
        next if $local->{host} ne $host || $local->{discriminator} ne $discriminator;    # 7.2
        splice(@{$port->{waiting}}, $place, 1);
        push(@{$port->{offered}}, $frame);
        my %level = (1 => "UNRELIABLE", 2 => "RELIABLE_DELIVERY", 4 => "RELIABLE_RECEPTION");
        my $rights = ord(substr($frame, 367, 1));
        result($id, return => "VIP_SUCCESS", conn => $#{$port->{offered}},
            RemoteAddr => {host => unpack("H*", substr($frame, 72, 16)),
                discriminator => unpack("H*", substr($frame, 88, ord(substr($frame, 71, 1))))},
            RemoteViAttribs => {ReliabilityLevel => "VIP_SERVICE_" . $level{ord(substr($frame, 366, 1))},
                MaxTransferSize => unpack("N", substr($frame, 368, 4)),
                EnableRdmaWrite => $rights & 2 ? JSON::PP::true : JSON::PP::false,
                EnableRdmaRead => $rights & 1 ? JSON::PP::true : JSON::PP::false});
        return;
    }
}

sub connect_accept {
    my ($id, $conn, $vi) = @_;
    my $frame = $port->{offered}[$conn];
    return result($id, return => "VIP_INVALID_PARAMETER") if !$frame || !$port->{vis}[$vi];
    $port->{offered}[$conn] = undef;
    $port->{accepting}{substr($frame, 16, 2)} = [$id, $vi, $frame];
    become($vi, "pending-connect");
    # FCVI_CONNECT_RESP1: the handle of our VI, and the two addresses of the request exchanged (6.9)
    my $payload = substr($frame, 56, 340);
    substr($payload, 8, 4) = handle($vi);
    substr($payload, 12, 296) = substr($frame, 216, 148) . substr($frame, 68, 148);
    send_frame($frame, 0x890008, 0, "\xff" x 4, 0x18, $payload);
}

sub connect_resp2 {
    my ($frame) = @_;
    my ($id, $vi, $rqst) = @{delete $port->{accepting}{substr($frame, 16, 2)}};
    become($vi, "connected");
    result($id, return => "VIP_SUCCESS");
    # FCVI_CONNECT_RESP3 ends the Exchange; it goes to the handle of the request (6.11)
    send_frame($rqst, 0x980000, 1, substr($rqst, 64, 4), 0x1A, "");
}

sub receive {
    my ($frame) = @_;
    return if length($frame) < 56 || substr($frame, 8, 1) ne "\x58";    # no FC-VI
    my $opcode = ord(substr($frame, 28, 1));
    if ($opcode == 0x10 && length($frame) == 396) { connect_rqst($frame) }
    elsif ($opcode == 0x19 && $port->{accepting}{substr($frame, 16, 2)}) { connect_resp2($frame) }
}

sub query_vi {
    my ($id, $number) = @_;
    my $vi = $port->{vis}[$number] or return result($id, return => "VIP_INVALID_PARAMETER");
    my $state = $vi->{state} eq "pending-connect" ? "CONNECT_PENDING" : uc($vi->{state});
    result($id, return => "VIP_SUCCESS", %$vi, State => "VIP_STATE_$state", ViSendQEmpty => JSON::PP::true, ViRecvQEmpty => JSON::PP::true);
}

# ---- the DUT protocol ----

my %methods = (
    "clock.advance" => sub {    # a port with timers lets each fire here, in its order
        my ($id, $params) = @_;
        die "us must be a number, 0 or more\n" if !defined $params->{us} || $params->{us} !~ /^\d+$/;
        my $now = $port->{now} += $params->{us};
        my @waiting = @{$port->{waiting}};
        $port->{waiting} = [grep { !defined $_->[2] || $_->[2] > $now } @waiting];
        for my $wait (@waiting) { result($wait->[0], return => "VIP_TIMEOUT") if defined $wait->[2] && $wait->[2] <= $now }
        my ($next) = sort { $a <=> $b } map { $_->[2] - $now } grep { defined $_->[2] } @{$port->{waiting}};
        result($id, now_us => $now, next_us => $next);
    },
    VipCreateVi => sub {
        my ($id, $params) = @_;
        push(@{$port->{vis}}, {state => "idle", ViAttribs => $params->{ViAttribs} // die "no ViAttribs\n"});
        result($id, return => "VIP_SUCCESS", vi => $#{$port->{vis}});
    },
    VipQueryVi => sub { query_vi($_[0], number($_[1], "vi")) },
    VipConnectWait => sub {
        my ($id, $params) = @_;
        my $local = $params->{LocalAddr} // die "no LocalAddr\n";
        my $length = length($local->{discriminator} // die "no discriminator\n") / 2;
        return result($id, return => "VIP_INVALID_PARAMETER") if $length < 16 || $length > 128;    # 7.2
        push(@{$port->{waiting}}, [$id, $local, defined $params->{Timeout} ? $port->{now} + $params->{Timeout} : undef]);
    },
    VipConnectAccept => sub { connect_accept($_[0], number($_[1], "conn"), number($_[1], "vi")) },
);

sub number {
    my ($params, $name) = @_;
    my $value = $params->{$name} // "";
    $value =~ /^\d+$/ or die "$name must be a number\n";
    return $value;
}

sub reset_port {
    my ($id, $config) = @_;
    for my $name (qw(n_port_id peer topology class)) { exists $config->{$name} or die "no $name\n" }
    if ($port) {    # calls that have not returned end first
        failure($_->[0], -32001, "reset") for @{$port->{waiting}}, values %{$port->{accepting}};
    }
    $port = {id => $config->{n_port_id}, peer_id => $config->{peer}{n_port_id}, now => 0, vis => [], waiting => [], offered => [], accepting => {}};
    result($id);
}

sub request {
    my ($id, $method, $params) = @_;
    if ($method eq "hello") {
        my $yes = JSON::PP::true;
        result($id, implementation => "starter device", version => "1", clock => "virtual", protocol => 2, wires => ["fc"],
            pics => {server => $yes, unreliable_delivery => $yes, class3 => $yes});
    }
    elsif ($method eq "reset") { reset_port($id, $params) }
    elsif (!$methods{$method}) { failure($id, -32601, "no method $method") }
    elsif (!$port) { failure($id, -32000, "no reset yet") }
    else { $methods{$method}->($id, $params) }
}

while (my $line = <STDIN>) {
    my $message = $json->decode($line);
    my $params = $message->{params} // {};
    if (exists $message->{id}) {
        eval { request($message->{id}, $message->{method}, $params); 1 } or failure($message->{id}, -32602, "wrong params: $@");
    }
    elsif ($message->{method} eq "frame" && $port) { receive(pack("H*", $params->{hex})) }
}

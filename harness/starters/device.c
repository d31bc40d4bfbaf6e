/* The device of device.py in C with jansson (package libjansson-dev): it attaches over exec: and passes its
 * first case, 5.3.2/dut-server.
 *
 *     cc -std=c11 -Wall device.c -ljansson -o device
 *
 * "The port" answers one Connection Setup (5.3.2) in class 3 from one-frame IUs; replace it by your
 * implementation. */
#define _POSIX_C_SOURCE 200809L
#include <jansson.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RQST = 396, MOST = 64 };

struct vi {
    const char *state;
    json_t *attributes;
};
struct wait {
    json_int_t request, due; /* due: when it times out; -1: never */
    uint8_t host[16], discriminator[128];
    size_t length;
};
struct setup { /* a FCVI_CONNECT_RQST that VipConnectWait handed out */
    uint8_t frame[RQST];
    enum { OFFERED = 1, ACCEPTING } phase;
    json_int_t request;
    int vi;
};
static struct port {
    int ready; /* after the first reset */
    uint8_t id[3], peer_id[3];
    json_int_t now;
    int vis, waits, setups;
    struct vi vi[MOST];
    struct wait wait[MOST];
    struct setup setup[MOST];
} port;

/* ---- lines ---- */

static void say(json_t *message)
{
    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    char *line = json_dumps(message, JSON_COMPACT);
    puts(line);
    fflush(stdout);
    free(line);
    json_decref(message);
}

static void result(json_int_t request, json_t *members)
{
    say(json_pack("{s:I, s:o}", "id", request, "result", members));
}

static void returns(json_int_t request, const char *code)
{
    result(request, json_pack("{s:s}", "return", code));
}

static void failure(json_int_t request, int code, const char *why)
{
    say(json_pack("{s:I, s:{s:i, s:s}}", "id", request, "error", "code", code, "message", why));
}

static size_t from_hex(const char *text, uint8_t *out, size_t room)
{
    size_t n = 0;
    unsigned byte;
    while (text != NULL && n < room && sscanf(text + 2 * n, "%2x", &byte) == 1) {
        out[n++] = (uint8_t)byte;
    }
    return n;
}

static json_t *to_hex(const uint8_t *bytes, size_t length)
{
    char text[2 * 2148 + 1] = "";
    for (size_t i = 0; i < length; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    return json_string(text);
}

static void store(uint8_t *out, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        out[i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    }
}

/* ---- the port ---- */

static void become(int vi, const char *state)
{
    port.vi[vi].state = state;
    say(json_pack("{s:s, s:{s:i, s:s}}", "method", "state", "params", "vi", vi, "state", state));
}

static void send_frame(const uint8_t *rqst, uint32_t f_ctl, uint8_t count, const uint8_t *handle,
                       uint8_t opcode, const uint8_t *payload, size_t length)
{
    uint8_t f[RQST] = {0x03};
    memcpy(f + 1, port.peer_id, 3);
    memcpy(f + 5, port.id, 3);
    f[8] = 0x58;
    store(f + 9, f_ctl, 3);
    f[12] = count; /* SEQ_ID */
    f[13] = 2;     /* DF_CTL: Device_Header of 32 bytes */
    f[15] = count; /* SEQ_CNT */
    memcpy(f + 16, rqst + 16, 2);
    f[19] = 7; /* our RX_ID */
    memcpy(f + 24, handle, 4);
    f[28] = opcode;
    f[29] = (uint8_t)((rqst[29] >> 4 & 1) << 2); /* FCVI_FLAGS: RETRY is that of the request (5.9.4.5) */
    memcpy(f + 52, rqst + 52, 4);                /* FCVI_CONNECTION_ID */
    if (length > 0) {
        memcpy(f + 56, payload, length);
    }
    say(json_pack("{s:s, s:{s:o}}", "method", "frame", "params", "hex", to_hex(f, 56 + length)));
}

static void connect_rqst(const uint8_t *f)
{
    for (int i = 0; i < port.waits && port.setups < MOST; i++) {
        struct wait *w = &port.wait[i];
        if (memcmp(w->host, f + 220, 16) != 0 || w->length != f[219] ||
            memcmp(w->discriminator, f + 236, w->length) != 0) {
            continue; /* the request names another address (7.2) */
        }
        json_int_t request = w->request;
        memmove(w, w + 1, (size_t)(--port.waits - i) * sizeof *w);
        struct setup *s = &port.setup[port.setups];
        memcpy(s->frame, f, RQST);
        s->phase = OFFERED;
        const char *level = f[366] == 1   ? "VIP_SERVICE_UNRELIABLE"
                            : f[366] == 2 ? "VIP_SERVICE_RELIABLE_DELIVERY"
                                          : "VIP_SERVICE_RELIABLE_RECEPTION";
        uint32_t size = (uint32_t)f[368] << 24 | (uint32_t)f[369] << 16 | (uint32_t)f[370] << 8 | f[371];
        result(request,
               json_pack("{s:s, s:i, s:{s:o, s:o}, s:{s:s, s:I, s:b, s:b}}", "return", "VIP_SUCCESS", "conn",
                         port.setups++, "RemoteAddr", "host", to_hex(f + 72, 16), "discriminator",
                         to_hex(f + 88, f[71] > 128 ? 128 : f[71]), "RemoteViAttribs", "ReliabilityLevel",
                         level, "MaxTransferSize", (json_int_t)size, "EnableRdmaWrite", f[367] & 2,
                         "EnableRdmaRead", f[367] & 1));
        return;
    }
}

static void connect_accept(json_int_t request, json_int_t conn, json_int_t vi)
{
    if (conn < 0 || conn >= port.setups || port.setup[conn].phase != OFFERED || vi < 0 || vi >= port.vis) {
        returns(request, "VIP_INVALID_PARAMETER");
        return;
    }
    struct setup *s = &port.setup[conn];
    s->phase = ACCEPTING;
    s->request = request;
    s->vi = (int)vi;
    become(s->vi, "pending-connect");
    /* FCVI_CONNECT_RESP1: the handle of our VI, and the two addresses of the request exchanged (6.9) */
    uint8_t payload[RQST - 56], unassigned[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    memcpy(payload, s->frame + 56, sizeof payload);
    store(payload + 8, 0x100 + (uint32_t)vi, 4);
    memcpy(payload + 12, s->frame + 216, 148);
    memcpy(payload + 160, s->frame + 68, 148);
    send_frame(s->frame, 0x890008, 0, unassigned, 0x18, payload, sizeof payload);
}

static void connect_resp2(const uint8_t *f)
{
    for (int i = 0; i < port.setups; i++) {
        struct setup *s = &port.setup[i];
        if (s->phase == ACCEPTING && memcmp(s->frame + 16, f + 16, 2) == 0) {
            s->phase = 0;
            become(s->vi, "connected");
            returns(s->request, "VIP_SUCCESS");
            /* FCVI_CONNECT_RESP3 ends the Exchange; it goes to the handle of the request (6.11) */
            send_frame(s->frame, 0x980000, 1, s->frame + 64, 0x1A, NULL, 0);
            return;
        }
    }
}

static void receive(const char *text)
{
    uint8_t f[2148] = {0};
    size_t length = from_hex(text, f, sizeof f);
    if (length < 56 || f[8] != 0x58) {
        return; /* no FC-VI */
    }
    if (f[28] == 0x10 && length == RQST) {
        connect_rqst(f);
    } else if (f[28] == 0x19) {
        connect_resp2(f);
    }
}

/* ---- the DUT protocol ---- */

static void reset_port(json_int_t request, json_t *config)
{
    const char *id = json_string_value(json_object_get(config, "n_port_id"));
    const char *peer_id = json_string_value(json_object_get(json_object_get(config, "peer"), "n_port_id"));
    if (id == NULL || peer_id == NULL) {
        failure(request, -32602, "n_port_id and peer.n_port_id must be there");
        return;
    }
    for (int i = 0; i < port.waits; i++) { /* calls that have not returned end first */
        failure(port.wait[i].request, -32001, "reset");
    }
    for (int i = 0; i < port.setups; i++) {
        if (port.setup[i].phase == ACCEPTING) {
            failure(port.setup[i].request, -32001, "reset");
        }
    }
    for (int i = 0; i < port.vis; i++) {
        json_decref(port.vi[i].attributes);
    }
    memset(&port, 0, sizeof port);
    port.ready = 1;
    from_hex(id, port.id, 3);
    from_hex(peer_id, port.peer_id, 3);
    result(request, json_object());
}

static void advance(json_int_t request, json_t *params)
{
    json_t *us = json_object_get(params, "us");
    if (!json_is_integer(us) || json_integer_value(us) < 0) {
        failure(request, -32602, "us must be a number, 0 or more");
        return;
    }
    port.now += json_integer_value(us); /* a port with more timers lets each fire here, in its order */
    json_int_t next = -1;
    for (int i = 0; i < port.waits;) {
        json_int_t due = port.wait[i].due;
        if (due >= 0 && due <= port.now) {
            json_int_t over = port.wait[i].request;
            memmove(port.wait + i, port.wait + i + 1, (size_t)(--port.waits - i) * sizeof port.wait[0]);
            returns(over, "VIP_TIMEOUT");
            continue;
        }
        next = due >= 0 && (next < 0 || due - port.now < next) ? due - port.now : next;
        i++;
    }
    result(request, json_pack("{s:I, s:o}", "now_us", port.now, "next_us",
                              next < 0 ? json_null() : json_integer(next)));
}

static void create_vi(json_int_t request, json_t *params)
{
    json_t *attributes = json_object_get(params, "ViAttribs");
    if (!json_is_object(attributes)) {
        failure(request, -32602, "ViAttribs must be an object");
    } else if (port.vis == MOST) {
        returns(request, "VIP_ERROR_RESOURCE");
    } else {
        port.vi[port.vis] = (struct vi){"idle", json_incref(attributes)};
        result(request, json_pack("{s:s, s:i}", "return", "VIP_SUCCESS", "vi", port.vis++));
    }
}

static void query_vi(json_int_t request, json_t *params)
{
    json_t *number = json_object_get(params, "vi");
    json_int_t vi = json_integer_value(number);
    if (!json_is_integer(number)) {
        failure(request, -32602, "vi must be a number");
    } else if (vi < 0 || vi >= port.vis) {
        returns(request, "VIP_INVALID_PARAMETER");
    } else {
        const char *state = port.vi[vi].state;
        const char *name = state[0] == 'i'   ? "VIP_STATE_IDLE"
                           : state[0] == 'c' ? "VIP_STATE_CONNECTED"
                                             : "VIP_STATE_CONNECT_PENDING";
        result(request,
               json_pack("{s:s, s:s, s:s, s:O, s:b, s:b}", "return", "VIP_SUCCESS", "state", state, "State",
                         name, "ViAttribs", port.vi[vi].attributes, "ViSendQEmpty", 1, "ViRecvQEmpty", 1));
    }
}

static void connect_wait(json_int_t request, json_t *params)
{
    json_t *local = json_object_get(params, "LocalAddr");
    const char *host = json_string_value(json_object_get(local, "host"));
    const char *discriminator = json_string_value(json_object_get(local, "discriminator"));
    if (host == NULL || discriminator == NULL) {
        failure(request, -32602, "LocalAddr must have host and discriminator");
    } else if (strlen(discriminator) < 32 || strlen(discriminator) > 256) {
        returns(request, "VIP_INVALID_PARAMETER"); /* 16 to 128 bytes (7.2) */
    } else if (port.waits == MOST) {
        returns(request, "VIP_ERROR_RESOURCE");
    } else {
        struct wait *w = &port.wait[port.waits++];
        json_t *timeout = json_object_get(params, "Timeout");
        w->request = request;
        w->due = json_is_integer(timeout) ? port.now + json_integer_value(timeout) : -1;
        from_hex(host, w->host, sizeof w->host);
        w->length = from_hex(discriminator, w->discriminator, sizeof w->discriminator);
    }
}

static void call(json_int_t request, const char *method, json_t *params)
{
    static const char *known[] = {"clock.advance", "VipCreateVi", "VipQueryVi", "VipConnectWait",
                                  "VipConnectAccept"};
    int which = -1;
    for (int i = 0; i < 5; i++) {
        which = strcmp(method, known[i]) == 0 ? i : which;
    }
    if (strcmp(method, "hello") == 0) {
        result(request, json_pack("{s:s, s:s, s:s, s:i, s:[s], s:{s:b, s:b, s:b}}", "implementation",
                                  "starter device", "version", "1", "clock", "virtual", "protocol", 2,
                                  "wires", "fc", "pics", "server", 1, "unreliable_delivery", 1, "class3", 1));
    } else if (strcmp(method, "reset") == 0) {
        reset_port(request, params);
    } else if (which < 0) {
        failure(request, -32601, "no such method");
    } else if (!port.ready) {
        failure(request, -32000, "no reset yet");
    } else if (which == 0) {
        advance(request, params);
    } else if (which == 1) {
        create_vi(request, params);
    } else if (which == 2) {
        query_vi(request, params);
    } else if (which == 3) {
        connect_wait(request, params);
    } else if (!json_is_integer(json_object_get(params, "conn")) ||
               !json_is_integer(json_object_get(params, "vi"))) {
        failure(request, -32602, "conn and vi must be numbers");
    } else {
        connect_accept(request, json_integer_value(json_object_get(params, "conn")),
                       json_integer_value(json_object_get(params, "vi")));
    }
}

int main(void)
{
    char *line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        json_t *message = json_loads(line, 0, NULL);
        json_t *request = json_object_get(message, "id"), *params = json_object_get(message, "params");
        const char *method = json_string_value(json_object_get(message, "method"));
        if (method != NULL && json_is_integer(request)) {
            call(json_integer_value(request), method, params);
        } else if (method != NULL && strcmp(method, "frame") == 0 && port.ready) {
            receive(json_string_value(json_object_get(params, "hex")));
        }
        json_decref(message);
    }
    free(line);
    return 0;
}

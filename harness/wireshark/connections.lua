-- Connections: which frames belong to one, and which request and Response belong together.
--
-- A Connection Setup is known by its ports and FCVI_CONNECTION_ID. Afterwards a frame belongs to the Connection whose VI its
-- receiver knows by FCVI_HANDLE (5.3.2). A Response has the request's FCVI_MSG_ID and Exchange (5.3.7), which also ties the two
-- directions of a Connection together whose setup is not in the capture.
local connection_field = ProtoField.uint32("fcvi.connection", "Connection", base.DEC)
local response_in = ProtoField.framenum("fcvi.response_in", "Response in", base.NONE, frametype.RESPONSE)
local response_to = ProtoField.framenum("fcvi.response_to", "Response to", base.NONE, frametype.REQUEST)
local response_time = ProtoField.relative_time("fcvi.response_time", "Response time")

local UNASSIGNED = 0xFFFFFFFF
local ASKS = { [0x00] = true, [0x01] = true, [0x02] = true }
local ANSWERS = { [0x08] = true, [0x09] = true, [0x0A] = true }
local SETUP = { [0x10] = true, [0x18] = true, [0x19] = true, [0x1A] = true }
local RETRY, RQST, RESP1, DISCONNECT_RESP, DISCONNECT_RESP_REV1 = 0x10, 0x10, 0x18, 0x1B, 0x1A
local of_frame, answer_of, asked_of, count
local setups, exchanges, places, pending, listed

local network_fields = {}
for _, name in ipairs({ "vlan.id", "brdwlk.vsan", "mdshdr.vsan", "fc.vft.vf_id", "tcp.stream" }) do
    local known, field = pcall(Field.new, name)
    if known then
        network_fields[#network_fields + 1] = field
    end
end

local function init_connections()
    of_frame, answer_of, asked_of, count = {}, {}, {}, 0
    setups, exchanges, places, pending, listed = {}, {}, {}, {}, {}
end

-- VSANs, VLANs and FCIP links are Fabrics of their own: N_Port_IDs of different ones are of different ports.
local function network()
    local words = {}
    for _, field in ipairs(network_fields) do
        for _, value in ipairs({ field() }) do
            words[#words + 1] = value.name .. tostring(value.value)
        end
    end
    return table.concat(words, "/")
end

local function key(...)
    return table.concat({ ... }, "/")
end

local function new_connection(net, from, to, number)
    count = count + 1
    listed[count] = { number = count, net = net, a = from, b = to, first = number, frames = 0, pairs = 0, bytes = 0 }
    return count
end

local function bind(connection, net, port, handle)
    if handle ~= UNASSIGNED then
        places[key(net, port, handle)] = connection
    end
end

-- A frame of a Connection Setup.
local function of_setup(f)
    local low, high = math.min(f.s_id, f.d_id), math.max(f.s_id, f.d_id)
    local exchange, known = key(f.net, low, high, f.ox_id), key(f.net, low, high, f.rev1 and "exchange" or "id", f.connection_id)
    local setup = setups[known]
    if f.opcode == RQST and f.rev1 then
        setup = nil -- Rev 1.0 has no identifier of a setup beside its Exchange, and no retry
    elseif f.opcode == RQST and setup ~= nil and setup.ox_id ~= f.ox_id and not f.retry then
        setup = nil -- the identifier was used before, for a Connection that is over
    end
    if setup == nil and f.retry and f.own_handle ~= nil then -- a retry may have an identifier of its own; the VI is the same
        local before = places[key(f.net, f.s_id, f.own_handle)]
        setup = before ~= nil and { connection = before } or nil
        setups[known] = setup
    end
    if setup == nil then
        setup = { connection = new_connection(f.net, f.s_id, f.d_id, f.number) }
        setups[known] = setup
    end
    setup.ox_id = f.ox_id
    exchanges[exchange] = setup.connection
    bind(setup.connection, f.net, f.d_id, f.handle)
    if f.own_handle ~= nil then
        bind(setup.connection, f.net, f.s_id, f.own_handle)
    end
    return setup.connection
end

local function of_message(f)
    local place = key(f.net, f.d_id, f.handle)
    local connection = places[place]
    local low, high = math.min(f.s_id, f.d_id), math.max(f.s_id, f.d_id)
    if ANSWERS[f.opcode] then
        local request = pending[key(f.net, f.d_id, f.s_id, f.ox_id, f.msg_id)]
        if request ~= nil and (connection == nil or connection == request.connection) then
            connection = request.connection
            if f.parameter == 0 and answer_of[request.number] == nil then
                answer_of[request.number], asked_of[f.number] = f.number, request
                listed[connection].pairs = listed[connection].pairs + 1
            end
        end
    end
    if f.opcode == (f.rev1 and DISCONNECT_RESP_REV1 or DISCONNECT_RESP) then -- it may say that there is no such Connection, and then has no handle
        connection = exchanges[key(f.net, low, high, f.ox_id)] or connection
    end
    if connection == nil and f.handle == UNASSIGNED then
        local setup = setups[key(f.net, low, high, "id", f.connection_id)]
        connection = setup ~= nil and setup.connection or nil
    end
    connection = connection or new_connection(f.net, f.s_id, f.d_id, f.number)
    bind(connection, f.net, f.d_id, f.handle)
    exchanges[key(f.net, low, high, f.ox_id)] = connection
    if ASKS[f.opcode] and f.last then -- the Response names the Message; its last frame is what it answers
        pending[key(f.net, f.s_id, f.d_id, f.ox_id, f.msg_id)] = { connection = connection, number = f.number, time = f.time }
    end
    return connection
end

local function port_of(field)
    local bytes = field.range:bytes()
    return bytes:get_index(0) * 65536 + bytes:get_index(1) * 256 + bytes:get_index(2)
end

-- The two ports of a frame, whichever sent it.
local function ports()
    local s_id, d_id = port_of(get.s_id()), port_of(get.d_id())
    return key(network(), math.min(s_id, d_id), math.max(s_id, d_id))
end

local function common(pinfo)
    return { number = pinfo.number, time = pinfo.rel_ts, net = network(), s_id = port_of(get.s_id()), d_id = port_of(get.d_id()),
             ox_id = get.ox_id().value }
end

-- The first time a frame is dissected: where it belongs. `dh` is the Device_Header, `payload_at` what follows it.
local function follow(pinfo, tvb, dh, size, opcode, rev1)
    local f = common(pinfo)
    f.opcode, f.handle, f.msg_id = opcode, tvb(dh, 4):uint(), tvb(dh + 8, 4):uint()
    f.parameter = get.parameter().value
    f.last = bit.band(get.f_ctl().value, 0x080000) ~= 0
    f.rev1 = rev1
    f.connection_id = rev1 and f.ox_id or size >= 32 and tvb(dh + 28, 4):uint() or 0
    f.retry = not rev1 and bit.band(tvb(dh + 5, 1):uint(), RETRY) ~= 0
    if (opcode == RQST or opcode == RESP1) and f.parameter == 0 and tvb:len() >= dh + size + 12 then
        f.own_handle = tvb(dh + size + (rev1 and 4 or 8), 4):uint()
    end
    local of_a_setup = SETUP[opcode] and not (rev1 and opcode == DISCONNECT_RESP_REV1)
    of_frame[f.number] = (of_a_setup and of_setup or of_message)(f)
    local c = listed[of_frame[f.number]]
    c.frames, c.last, c.bytes = c.frames + 1, f.number, c.bytes + pinfo.len
end

-- A Basic Link Service or link control frame belongs to the Connection of its Exchange.
local function follow_link(pinfo)
    local f = common(pinfo)
    of_frame[f.number] = exchanges[key(f.net, math.min(f.s_id, f.d_id), math.max(f.s_id, f.d_id), f.ox_id)]
end

local function show_connection(pinfo, tree)
    local connection, number = of_frame[pinfo.number], pinfo.number
    if connection == nil then
        return
    end
    tree:add(connection_field, connection):set_generated()
    if answer_of[number] ~= nil then
        tree:add(response_in, answer_of[number]):set_generated()
    end
    local request = asked_of[number]
    if request ~= nil then
        local took = math.max(0, pinfo.rel_ts - request.time)
        local seconds = math.floor(took)
        tree:add(response_to, request.number):set_generated()
        tree:add(response_time, NSTime(seconds, math.floor((took - seconds) * 1e9 + 0.5))):set_generated()
    end
end

-- The Connections as a table: in Wireshark's menu, and in tshark with -X lua_script1:connections.
local function connections_text()
    local lines = { "connection  ports           network           frames      bytes  answered  first..last" }
    for _, c in ipairs(listed or {}) do
        lines[#lines + 1] = string.format("%10d  %06X %06X   %-16s %7d %10d %9d  %d..%d", c.number, c.a, c.b,
            c.net == "" and "-" or c.net, c.frames, c.bytes, c.pairs, c.first, c.last)
    end
    return table.concat(lines, "\n") .. "\n"
end

-- A listener with a filter makes Wireshark extract fields already when it reads the file, in order; without, it would do so for the
-- frames that somebody looks at, in the order they are looked at. tshark does so in its first pass only with -R.
local tap = Listener.new("frame", "fc")
if gui_enabled() then
    register_menu("FC-VI Connections", function()
        TextWindow.new("FC-VI Connections"):set(connections_text())
    end, MENU_STAT_UNSORTED)
elseif ({ ... })[1] == "connections" then
    function tap.draw()
        io.write(connections_text())
    end
end

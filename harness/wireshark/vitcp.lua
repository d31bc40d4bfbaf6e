-- ---- VI/TCP (draft-dicecco-vitcp-00): PDUs in streams of TCP, by the profile that stands in the tables ----
do
    @VITCP_TABLES@

    local vitcp = Proto("vitcp", "VI/TCP")
    local SEG, CE, RDMA = 24, 44, 16
    local DISCRIMINATOR = 16
    local REQUEST, NO_MATCH, READ_REQUEST, WRITE = 5, 8, 1, 3 -- places in the order of the draft
    local data_field = ProtoField.bytes("vitcp.data", "Data")
    local security_field = ProtoField.bytes("vitcp.ce.security", "Security Information")
    local severity, group = expert.severity, expert.group
    local broken = ProtoExpert.new("vitcp.broken", "Segment Length is less than a Segment Header", group.MALFORMED, severity.ERROR)
    local missing = ProtoExpert.new("vitcp.missing", "a header is missing or cut off", group.MALFORMED, severity.ERROR)
    local other = ProtoExpert.new("vitcp.profile", "a number is not the profile's", group.PROTOCOL, severity.NOTE)
    local fields = { data_field, security_field }
    for _, structure in pairs(vitcp_structures) do
        for _, entry in ipairs(structure) do
            fields[#fields + 1] = entry.field
        end
    end
    vitcp.fields = fields
    vitcp.experts = { broken, missing, other }
    vitcp.prefs.port = Pref.uint("TCP port", 0, "The port of VI/TCP, which the draft does not assign; 0: a stream is known by its "
        .. "Connect Request")

    local function length_of(tvb, _, offset)
        local length = tvb(offset + 2, 2):uint()
        return length < SEG and tvb:len() - offset or length
    end

    local function add(tree, name, tvb, base)
        for _, entry in ipairs(vitcp_structures[name]) do
            if base + entry.at + entry.size <= tvb:len() then
                local range = tvb(base + entry.at, entry.size)
                if entry.low == nil then
                    tree:add(entry.field, range)
                else -- bits that do not lie together
                    tree:add(entry.field, range, bit.rshift(bit.band(range:uint(), entry.mask), entry.low))
                end
            end
        end
    end

    local function dissect(tvb, pinfo, root)
        local length = tvb(2, 2):uint()
        local tree = root:add(vitcp, tvb())
        local pdu = vitcp_types[bit.rshift(bit.band(tvb(1, 1):uint(), vitcp_type_mask), vitcp_type_low)]
        local name = pdu == nil and "unknown Type" or vitcp_names[pdu]
        tree:append_text(", " .. name)
        add(tree, "SEG", tvb, 0)
        if length < SEG then
            tree:add_proto_expert_info(broken)
            return tvb:len()
        end
        pinfo.cols.info:append(name .. " ")
        if pdu == nil or tvb(0, 1):uint() ~= vitcp_version then
            tree:add_proto_expert_info(other)
        end
        local base, rest = SEG, data_field
        if pdu ~= nil and pdu >= READ_REQUEST and pdu <= WRITE then
            if length >= SEG + RDMA then
                add(tree:add(vitcp, tvb(SEG, RDMA), "RDMA Header"), "RDMA", tvb, SEG)
                base = SEG + RDMA
            else
                tree:add_proto_expert_info(missing)
            end
        elseif pdu ~= nil and pdu >= REQUEST and pdu <= NO_MATCH then
            if length >= SEG + CE then
                add(tree:add(vitcp, tvb(SEG, CE), "CE Header"), "CE", tvb, SEG)
                base, rest = SEG + CE, security_field
            elseif pdu <= REQUEST + 1 then
                tree:add_proto_expert_info(missing)
            end
        end
        if length > base then
            tree:add(rest, tvb(base, length - base))
        end
        return tvb:len()
    end

    function vitcp.dissector(tvb, pinfo, root)
        pinfo.cols.protocol = "VI/TCP"
        pinfo.cols.info = ""
        dissect_tcp_pdus(tvb, root, 4, length_of, dissect)
        return tvb:len()
    end

    -- A stream is VI/TCP when it begins with a Connect Request: nothing else tells it while the draft has no port.
    local function guess(tvb, pinfo, root)
        if tvb:len() < SEG + CE or tvb(0, 1):uint() ~= vitcp_version or tvb(2, 2):uint() < SEG + CE
            or vitcp_types[bit.rshift(bit.band(tvb(1, 1):uint(), vitcp_type_mask), vitcp_type_low)] ~= REQUEST
            or tvb(SEG + 2, 2):uint() > DISCRIMINATOR or tvb(SEG + 26, 2):uint() > DISCRIMINATOR then
            return false
        end
        pinfo.conversation = vitcp
        vitcp.dissector(tvb, pinfo, root)
        return true
    end
    vitcp:register_heuristic("tcp", guess)

    local ports, registered = DissectorTable.get("tcp.port"), 0
    ports:add_for_decode_as(vitcp)
    function vitcp.prefs_changed()
        if registered ~= 0 then
            ports:remove(registered, vitcp)
        end
        registered = vitcp.prefs.port
        if registered ~= 0 then
            ports:add(registered, vitcp)
        end
    end
end

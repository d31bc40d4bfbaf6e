-- Which edition of FC-VI two ports speak: that of 2007, or Rev 1.0 of 1999, as `fcvi lint --edition` has it.
--
-- Most opcodes have a Device_Header of another size in the other edition, which tells the two apart. A connect request fixes the
-- edition of its ports; before one was seen the first frame that only one edition has decides, and Rev 1.0 no longer when more
-- frames showed that of 2007. What shows nothing is read as of 2007.
local editions = { field = ProtoField.string("fcvi.edition", "Edition"), of_frame = {}, pairs = {}, CONNECT_REV1 = 332 }
fcvi.prefs.edition = Pref.enum("Edition", 0, "The edition of FC-VI that the ports speak",
    { { 1, "by their frames", 0 }, { 2, "2007 (ISO/IEC 14165-331)", 1 }, { 3, "Rev 1.0 (1999)", 2 } }, false)

function editions.init()
    editions.of_frame, editions.pairs = {}, {}
end

-- The only edition that has this IU; nil: none, or both. `payload` is where it begins, `length` how long it is.
function editions.shown(tvb, opcode, size, payload, length)
    local new, old = editions.sizes_2007[opcode], editions.sizes_rev1[opcode]
    if new == old then
        return nil
    end
    if size == new then
        return "2007"
    end
    local connects = opcode == 0x10 or opcode == 0x18
    local good = not connects or (length == editions.CONNECT_REV1 and tvb(payload, 4):uint() == 1)
    return size == old and good and "rev1" or nil
end

local function take(pair, shown, connects)
    if connects then
        pair.edition, pair.fixed = shown, true
        return
    end
    pair[shown] = pair[shown] + 1
    if pair.edition == nil then
        pair.edition = shown
    elseif pair.edition == "rev1" and not pair.fixed and pair["2007"] > pair.rev1 then
        pair.edition = "2007"
    end
end

-- The edition by which to read this frame.
function editions.of(pinfo, ports, shown, connects)
    if fcvi.prefs.edition ~= 0 then
        return fcvi.prefs.edition == 2 and "rev1" or "2007"
    end
    if not pinfo.visited or editions.of_frame[pinfo.number] == nil then
        local pair = editions.pairs[ports]
        if pair == nil then
            pair = { rev1 = 0, ["2007"] = 0 }
            editions.pairs[ports] = pair
        end
        if shown ~= nil then
            take(pair, shown, connects)
        end
        editions.of_frame[pinfo.number] = pair.edition or "2007"
    end
    return editions.of_frame[pinfo.number]
end

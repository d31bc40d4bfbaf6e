-- The Info column: the Connection of a frame, its Message, and what the flags and the Reason Code of its Device_Header say.
local function status(tvb, dh, iu, rev1)
    local words, judges, failed = {}, false, false
    for _, flag in ipairs(rev1 and flags_rev1 or flags) do
        if contains(flag.ius, iu) then
            local set = bit.band(tvb(dh + 5, 1):uint(), flag.mask) ~= 0
            judges, failed = judges or flag.judges, failed or (flag.judges and set)
            if set then
                words[#words + 1] = flag.name
            end
        end
    end
    if contains(rev1 and reason_ius_rev1 or reason_ius, iu) then
        local reason = tvb(dh + 13, 1):uint()
        if reason ~= 0 then
            words[#words + 1] = string.format("%02Xh %s", reason, (rev1 and reasons_rev1 or reasons)[reason] or "unknown reason")
            failed = true
        end
    end
    if judges and not failed then
        words[#words + 1] = "no error"
    end
    return table.concat(words, " ")
end

local function info(pinfo, tvb, dh, iu, rev1)
    local words = { names[iu] }
    if of_frame[pinfo.number] ~= nil then
        words[#words + 1] = "Connection " .. of_frame[pinfo.number]
    end
    if contains(message_ius, iu) then
        words[#words + 1] = string.format("Message %08Xh", tvb(dh + 8, 4):uint())
    end
    local said = status(tvb, dh, iu, rev1)
    if said ~= "" then
        words[#words + 1] = said
    end
    words[#words + 1] = string.format("OX_ID %04Xh", get.ox_id().value)
    pinfo.cols.info = table.concat(words, ", ") .. (rev1 and ", Rev 1.0" or "")
end

-- Findings: what `fcvi lint --json` said of this capture, and what the suite wrote as comments into its own captures.
local finding_fields = {
    requirement = ProtoField.string("fcvi.finding.requirement", "Requirement"),
    class = ProtoField.string("fcvi.finding.class", "Class"),
    message = ProtoField.string("fcvi.finding.message", "Finding"),
    seen = ProtoField.string("fcvi.finding.seen", "Seen"),
    required = ProtoField.string("fcvi.finding.required", "Required"),
}
local FINDING_ORDER = { "requirement", "class", "message", "seen", "required" }
local finding_experts = {
    violation = ProtoExpert.new("fcvi.finding.violation", "Violation", expert.group.PROTOCOL, expert.severity.ERROR),
    malformed = ProtoExpert.new("fcvi.finding.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR),
    notice = ProtoExpert.new("fcvi.finding.notice", "Notice", expert.group.PROTOCOL, expert.severity.NOTE),
}
local findings_unread = ProtoExpert.new("fcvi.findings.unread", "The findings cannot be shown", expert.group.UNDECODED,
    expert.severity.WARN)
local findings_other = ProtoExpert.new("fcvi.findings.other_capture", "The findings are of another capture",
    expert.group.UNDECODED, expert.severity.WARN)

fcvi.prefs.findings = Pref.string("Findings", "", "The file that fcvi lint --json wrote for this capture; empty for none")
fcvi.prefs.comments = Pref.bool("Findings in comments", true, "Show findings that the captures of fcvi run carry as comments")

local SAME_US = 2 -- a time went through a floating-point number on each side
local comment_of = Field.new("frame.comment")
local findings, findings_problem, findings_of_one = {}, nil, true

local ESCAPES = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function unescape(text)
    text = text:gsub("\\u(%x%x%x%x)", function(hex)
        local code = tonumber(hex, 16)
        return code < 0x80 and code ~= 0x5C and string.char(code) or "?" -- our own messages are ASCII
    end)
    return (text:gsub("\\(.)", function(c) return ESCAPES[c] or c end))
end

-- A member of one line of lint's JSON. A quote within a text has a backslash before it, so that no text looks like a name.
local function member(line, name)
    local _, at = line:find('"' .. name .. '": ', 1, true)
    if at == nil then
        return nil
    end
    if line:sub(at + 1, at + 1) ~= '"' then
        local bare = line:match("^[%w%.%-+]+", at + 1)
        return bare ~= "null" and bare or nil
    end
    local finish = at + 2
    while finish <= #line and line:sub(finish, finish) ~= '"' do
        finish = finish + (line:sub(finish, finish) == "\\" and 2 or 1)
    end
    return unescape(line:sub(at + 2, finish - 1))
end

local function take_finding(line)
    local number = tonumber(member(line, "frame") or "")
    local finding = { time = tonumber(member(line, "time") or ""), byte = tonumber(member(line, "byte") or "") }
    for _, name in ipairs(FINDING_ORDER) do
        finding[name] = member(line, name)
    end
    if number == nil or finding.time == nil or finding.requirement == nil or finding_experts[finding.class] == nil then
        return false
    end
    findings[number] = findings[number] or {}
    table.insert(findings[number], finding)
    local file = member(line, "file")
    findings_of_one = findings_of_one ~= false and (findings_of_one == true or findings_of_one == file) and file
    return true
end

-- Why the file of findings cannot be trusted to be whole; nil when it can.
local function read_findings(path)
    local file, why = io.open(path, "r")
    if file == nil then
        return why
    end
    local count, summary = 0, nil
    for line in file:lines() do
        count = count + 1
        if line:sub(1, 12) == '{"summary": ' then
            summary = line
        elseif summary ~= nil or not take_finding(line) then
            file:close()
            return string.format("%s: line %d is no line of fcvi lint --json", path, count)
        end
    end
    file:close()
    if summary == nil then
        return path .. ": the summary is missing, so that findings may be missing too; run fcvi lint --json again"
    end
    local left_off = member(summary, "not_shown")
    if left_off ~= nil and left_off ~= "0" then
        return string.format("%s: %s findings were left off; fcvi lint --limits findings=N writes more", path, left_off)
    end
    return nil
end

local function init_findings()
    findings, findings_problem, findings_of_one = {}, nil, true
    if fcvi.prefs.findings ~= "" then
        findings_problem = read_findings(fcvi.prefs.findings)
    end
end

-- Findings in the comments of a frame, as the captures of `fcvi run` have them.
local function of_comments()
    local found = {}
    for _, comment in ipairs({ comment_of() }) do
        local requirement, class, message = tostring(comment.value):match("^(%S+) %[(%l+)%] (.*)$")
        if requirement ~= nil and finding_experts[class] ~= nil then
            table.insert(found, { requirement = requirement, class = class, message = message })
        end
    end
    return found
end

local function of_file(pinfo, root)
    local found = {}
    for _, finding in ipairs(findings[pinfo.number] or {}) do
        if math.abs(finding.time - pinfo.abs_ts) * 1e6 <= SAME_US then
            table.insert(found, finding)
        elseif findings_of_one ~= false then
            root:add_proto_expert_info(findings_other, string.format(
                "The findings speak of frame %d at another time: they are of another capture", pinfo.number))
            return {}
        end
    end
    return found
end

local function show_findings(tvb, pinfo, root)
    if findings_problem ~= nil and pinfo.number == 1 then
        root:add_proto_expert_info(findings_unread, findings_problem)
    end
    local found = of_file(pinfo, root)
    if #found == 0 and fcvi.prefs.comments then
        found = of_comments()
    end
    local fc = get.r_ctl()
    for _, finding in ipairs(found) do
        local at = fc ~= nil and finding.byte ~= nil and fc.offset + finding.byte or nil
        local range = at ~= nil and at < tvb:len() and tvb(at, 1) or tvb(0, 0)
        local tree = root:add(fcvi, range, string.format("%s [%s]", finding.requirement, finding.class))
        for _, name in ipairs(FINDING_ORDER) do
            if finding[name] ~= nil then
                tree:add(finding_fields[name], range, finding[name]):set_generated()
            end
        end
        tree:add_proto_expert_info(finding_experts[finding.class], finding.requirement .. ": " .. finding.message)
    end
end

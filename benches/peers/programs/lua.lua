local depts = { "eng", "ops", "hr", "law", "art", "fin", "lab" }
local rows = {}
for i = 0, 9999 do
  rows[i + 1] = { id = i, name = "n" .. i, dept = depts[i % 7 + 1], salary = (i * 7919) % 100000, active = i % 3 ~= 0 }
end

local function range(n)
  local out = {}
  for i = 1, n do out[i] = i - 1 end
  return out
end

local function map(f, xs)
  local out = {}
  for i = 1, #xs do out[i] = f(xs[i]) end
  return out
end

local function filter(f, xs)
  local out, n = {}, 0
  for i = 1, #xs do
    local x = xs[i]
    if f(x) then
      n = n + 1
      out[n] = x
    end
  end
  return out
end

local function reduce(f, acc, xs)
  for i = 1, #xs do acc = f(acc, xs[i]) end
  return acc
end

local function add(x, y) return x + y end

function task_a()
  return reduce(add, 0, map(function(x) return x + 1 end, range(100000)))
end

function task_b()
  local kept = filter(function(r) return r.active and r.salary > 50000 end, rows)
  local groups, order = {}, {}
  for i = 1, #kept do
    local r = kept[i]
    local group = groups[r.dept]
    if not group then
      group = {}
      groups[r.dept] = group
      order[#order + 1] = r.dept
    end
    group[#group + 1] = r
  end
  local out = map(function(dept)
    local group = groups[dept]
    local sum = reduce(add, 0, map(function(r) return r.salary end, group))
    return { dept = dept, n = #group, sum = sum, avg = sum / #group }
  end, order)
  table.sort(out, function(x, y) return x.sum > y.sum end)
  return out[1].sum
end

function task_c()
  local i, acc = 0, 0
  while i < 1000000 do
    acc = acc + i
    i = i + 1
  end
  return acc
end

local function fib(n)
  if n < 2 then return n end
  return fib(n - 1) + fib(n - 2)
end

function task_d() return fib(25) end

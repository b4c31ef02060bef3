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

-- Transducers: functions that wrap a step; a step returns false to end.
local function mapping(f)
  return function(step) return function(x) return step(f(x)) end end
end

local function filtering(f)
  return function(step)
    return function(x)
      if f(x) then return step(x) end
      return true
    end
  end
end

local function taking(n)
  return function(step)
    local left = n
    return function(x)
      left = left - 1
      return step(x) and left > 0
    end
  end
end

function task_g()
  local sum = 0
  local step = mapping(function(x) return x + 1 end)(filtering(function(x) return x % 2 == 0 end)(taking(40000)(function(x)
    sum = sum + x
    return true
  end)))
  local xs = range(100000)
  for i = 1, #xs do
    if not step(xs[i]) then break end
  end
  return sum
end

local function swap(cell, f, ...) cell.value = f(cell.value, ...) end

local function add_at(totals, key, x)
  totals[key] = (totals[key] or 0) + x
  return totals
end

function task_h()
  local totals = { value = {} }
  for i = 0, 99999 do swap(totals, add_at, i % 100, i) end
  return totals.value[7]
end

local function tenth(i)
  if i % 10 == 0 then error({ i = i }) end
  return i
end

function task_i()
  local sum = 0
  for i = 0, 19999 do
    local is_well, result = pcall(tenth, i)
    sum = sum + (is_well and result or 2 * result.i)
  end
  return sum
end

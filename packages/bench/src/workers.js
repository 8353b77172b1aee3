// Measures what workers cost: the CPU per call of `modelgate --workers 2`, primary process included, compared with that of one process.
// Each worker has as many connections as the one process. Without limits, and with a token that has two limits and a budget, which the
// primary process counts for all workers.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { program, startCommand } from './command.js'
import { requestBody } from './payloads.js'
import { loadCpu, setting } from './placement.js'
import { startChild, startServer } from './process.js'
import { createRow } from './row.js'
import { median } from './table.js'

const rounds = setting('BENCH_ROUNDS', 15)
const seconds = setting('BENCH_SECONDS', 0.5)
const connections = setting('BENCH_CONNECTIONS', 32)
const body = requestBody('chat', 'bench-model', 1024, false)

const cases = [
  { name: '2 workers, JSON of 1 kB, token without limits', flags: [] },
  {
    name: '2 workers, JSON of 1 kB, two limits and a budget',
    flags: [
      ...['--requests-per-minute', '100000000', '--tokens-per-minute', '1000000000000'],
      ...['--budget-tokens', '1000000000000'],
    ],
  },
]

export const workersNames = cases.map(({ name }) => name)

/** CPU time of one process, in milliseconds: ticks of a hundredth of a second. @param {number} pid */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Returns a process and its children. @param {number} pid @returns {number[]} */
const familyOf = (pid) => [
  pid,
  ...readdirSync(`/proc/${pid}/task`)
    .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean))
    .map(Number),
]

/** @param {string} folder @param {readonly string[]} args */
async function startWithCpu(folder, args) {
  const { port, pid, stop } = await startCommand(folder, args)
  const family = familyOf(pid)
  return { port, cpuMs: () => family.reduce((sum, each) => sum + cpuOf(each), 0), stop }
}

/** @param {readonly string[]} names @returns {Promise<import('./row.js').Row[]>} */
export async function benchWorkers(names) {
  const upstream = await startServer('./upstream.js', { pin: loadCpu })
  const load = startChild('./load.js', { pin: loadCpu })
  const rows = []
  try {
    for (const { name, flags } of cases.filter((one) => names.includes(one.name)))
      rows.push(await benchCase(name, flags, upstream.port, load))
  } finally {
    await Promise.all([upstream.stop(), load.stop()])
  }
  return rows
}

/** @param {string} name @param {readonly string[]} flags @param {number} upstream @param {ReturnType<typeof startChild>} load */
async function benchCase(name, flags, upstream, load) {
  const folders = ['1', '2'].map(() => mkdtempSync(join(tmpdir(), 'modelgate-bench-')))
  const sides = await Promise.all(
    folders.map(async (folder, index) => {
      const config = {
        upstreams: {
          one: { provider: 'openai', apiKey: 'bench-key', baseURL: `http://127.0.0.1:${upstream}/json/v1` },
        },
        models: { 'bench-model': 'one' },
        data: 'data',
      }
      writeFileSync(join(folder, 'modelgate.config.json'), JSON.stringify(config))
      const issued = execFileSync(
        process.execPath,
        [program, 'tokens', 'issue', '--json', '--name', 'bench', ...flags],
        {
          cwd: folder,
          encoding: 'utf8',
        },
      )
      const gateway = await startWithCpu(folder, ['--workers', String(index + 1)])
      return { ...gateway, secret: JSON.parse(issued).secret, micros: /** @type {number[]} */ ([]) }
    }),
  )
  for (let round = -1; round < rounds; round++)
    for (const [index, side] of [...sides.entries()].sort(([a], [b]) => (round % 2 === 0 ? a - b : b - a))) {
      const before = side.cpuMs()
      const { answers } = await load.ask({
        ...{ port: side.port, path: '/v1/chat/completions', body, seconds, connections: connections * (index + 1) },
        headers: { authorization: `Bearer ${side.secret}`, 'content-type': 'application/json' },
      })
      // The first round warms both.
      if (round >= 0) side.micros.push(((side.cpuMs() - before) * 1000) / answers)
    }
  for (const { stop } of sides) stop()
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  const [one = [], two = []] = sides.map(({ micros }) => micros)
  return createRow({
    work: name,
    ours: `${median(two).toFixed(0)} µs of CPU per call`,
    beside: `one process: ${median(one).toFixed(0)} µs`,
    rounds: one.map((micros, index) => micros / (two[index] ?? Number.NaN)),
    reference: one,
    bar: { least: 0.9 },
    figures: { one, two },
  })
}

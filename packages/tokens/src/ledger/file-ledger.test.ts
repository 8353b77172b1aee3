import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { fileLedger } from './file-ledger.ts'
import { filesIn, idsIn, readAll, recordWith, tempFolder } from './ledger.test-support.ts'

const quiet = { logger: false } as const
const range = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => String(from + i))
const errorMessages = () => {
  const lines: string[] = []
  return {
    lines,
    logger: { warn: (line: string) => void lines.push(line), error: (line: string) => void lines.push(line) },
  }
}

it('writes one line for each record, to a file of the day and the process', async () => {
  const folder = join(tempFolder(), 'a', 'ledger')
  const ledger = fileLedger({ folder, ...quiet })
  expect(ledger.folder).toBe(folder)
  ledger.append(recordWith({ id: '1' }))
  ledger.append(recordWith({ id: '2', model: 'line\u2028break\n' }))
  await ledger.flush()
  const [name = '', ...others] = filesIn(folder)
  expect(others).toEqual([])
  expect(name).toMatch(new RegExp(`^2026-11-21\\.${process.pid}-[0-9a-f]{12}\\.jsonl$`))
  const text = readFileSync(join(folder, name), 'utf8')
  expect(text.split('\n')).toHaveLength(3)
  expect(JSON.parse(text.split('\n')[0] ?? '')).toEqual(recordWith({ id: '1' }))
  expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  await ledger.close()
  expect(await idsIn(folder)).toEqual(['1', '2'])
})

it('creates no file until there is a record to write', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  await ledger.flush()
  await ledger.close()
  expect(filesIn(folder)).toEqual([])
})

it('leaves an existing folder unchanged', async () => {
  const folder = tempFolder()
  chmodSync(folder, 0o750)
  await fileLedger({ folder, ...quiet }).close()
  expect(statSync(folder).mode & 0o777).toBe(0o750)
})

it('throws at once if the folder cannot be created', () => {
  const folder = tempFolder()
  writeFileSync(join(folder, 'file'), '')
  expect(() => fileLedger({ folder: join(folder, 'file'), ...quiet })).toThrow('EEXIST')
})

it('writes automatically after a short delay', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  ledger.append(recordWith({ id: '1' }))
  expect(filesIn(folder)).toEqual([])
  await vi.waitFor(async () => expect(await idsIn(folder)).toEqual(['1']), { timeout: 2000 })
  ledger.append(recordWith({ id: '2' }))
  await vi.waitFor(async () => expect(await idsIn(folder)).toEqual(['1', '2']), { timeout: 2000 })
  await ledger.close()
})

it('does not wait for the timer once there is enough to write', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const folder = tempFolder()
    const ledger = fileLedger({ folder, ...quiet })
    for (const id of range(1000)) ledger.append(recordWith({ id }))
    while ((filesIn(folder)[0] === undefined ? 0 : (await idsIn(folder)).length) < 1000)
      await new Promise((resolve) => setImmediate(resolve))
    await ledger.close()
  } finally {
    vi.useRealTimers()
  }
})

it('writes each record to the file of its day, also after midnight', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  ledger.append(recordWith({ id: 'a', time: '2026-11-20T23:59:59.999Z' }))
  ledger.append(recordWith({ id: 'b', time: '2026-11-21T00:00:00.000Z' }))
  await ledger.flush()
  ledger.append(recordWith({ id: 'c', time: '2026-11-20T23:50:00.000Z' }))
  await ledger.flush()
  ledger.append(recordWith({ id: 'd', time: '2026-11-23T00:00:00.000Z' }))
  await ledger.flush()
  await ledger.close()
  expect(filesIn(folder).map((name) => name.slice(0, 10))).toEqual(['2026-11-20', '2026-11-21', '2026-11-23'])
  expect(await idsIn(folder)).toEqual(['a', 'c', 'b', 'd'])
})

it.runIf(process.platform === 'linux')('keeps the files of at most two days open', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  for (let day = 1; day <= 28; day++) {
    ledger.append(recordWith({ id: String(day), time: `2026-11-${String(day).padStart(2, '0')}T10:00:00.000Z` }))
    await ledger.flush()
  }
  expect(openFilesIn(folder)).toBe(2)
  await ledger.close()
  expect(openFilesIn(folder)).toBe(0)
  expect(await idsIn(folder)).toEqual(range(28, 1))
})

it('flushes all appended records, including those of a running flush', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  const flushed: Promise<void>[] = []
  for (const id of range(20)) {
    ledger.append(recordWith({ id }))
    flushed.push(ledger.flush().then(async () => expect(await idsIn(folder)).toContain(id)))
    if (Number(id) % 5 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(flushed)
  expect(await idsIn(folder)).toEqual(range(20))
  await ledger.close()
})

it('closes once, with everything written, and accepts no records after it', async () => {
  const folder = tempFolder()
  const ledger = fileLedger({ folder, ...quiet })
  for (const id of range(2500)) ledger.append(recordWith({ id }))
  await Promise.all([ledger.close(), ledger.close(), ledger.flush()])
  expect(await idsIn(folder)).toEqual(range(2500))
  expect(() => ledger.append(recordWith())).toThrow(`ledger in ${folder}: a record was appended after close()`)
})

it('rejects a record with an invalid day', async () => {
  const ledger = fileLedger({ folder: tempFolder(), ...quiet })
  expect(() => ledger.append(recordWith({ time: '../../etc/passwd' }))).toThrow("ledger: time is '../../etc/passwd'")
  await ledger.close()
})

it.each([
  ['moved', (path: string) => renameSync(path, `${path}.kept.jsonl`), ['1', '2', '3']],
  ['deleted', (path: string) => rmSync(path), ['2', '3']],
  ['deleted with its folder', (path: string) => rmSync(join(path, '..'), { recursive: true }), ['2', '3']],
])('starts a new file when the current one was %s', async (_, change, ids) => {
  const folder = join(tempFolder(), 'ledger')
  const ledger = fileLedger({ folder, ...quiet })
  ledger.append(recordWith({ id: '1' }))
  await ledger.flush()
  change(join(folder, filesIn(folder)[0] ?? ''))
  ledger.append(recordWith({ id: '2' }))
  await ledger.flush()
  ledger.append(recordWith({ id: '3' }))
  await ledger.close()
  expect((await idsIn(folder)).sort()).toEqual(ids)
})

/** Removes the folder, so that nothing can be written. The returned function creates an empty one. */
function breakDisk(folder: string): () => void {
  rmSync(folder, { recursive: true })
  writeFileSync(folder, '')
  return () => {
    rmSync(folder)
    mkdirSync(folder)
  }
}

it('keeps records that it cannot write, warns once, and writes them later', async () => {
  const folder = join(tempFolder(), 'ledger')
  const { lines, logger } = errorMessages()
  const ledger = fileLedger({ folder, logger })
  const mend = breakDisk(folder)
  for (const id of range(1500)) ledger.append(recordWith({ id }))
  await expect(ledger.flush()).rejects.toThrow(`ledger in ${folder}: 1500 records could not be written yet`)
  await expect(ledger.flush()).rejects.toThrow()
  expect(lines).toEqual([
    expect.stringMatching(
      /^modelgate: ledger in .*: cannot write \(ENOTDIR.*\). Free disk space.*; 1500 records are not written yet$/,
    ),
  ])
  ledger.append(recordWith({ id: '1500' }))
  mend()
  await ledger.flush()
  expect(await idsIn(folder)).toEqual(range(1501))
  expect(lines[1]).toMatch(/writing works again; 0 records are not written yet$/)
  await ledger.close()
  expect(ledger.dropped).toBe(0)
})

it('retries automatically', async () => {
  const folder = join(tempFolder(), 'ledger')
  const { lines, logger } = errorMessages()
  const ledger = fileLedger({ folder, logger })
  const mend = breakDisk(folder)
  ledger.append(recordWith({ id: '1' }))
  await vi.waitFor(() => expect(lines).toHaveLength(1), { timeout: 2000 })
  mend()
  await vi.waitFor(async () => expect(await idsIn(folder)).toEqual(['1']), { timeout: 5000 })
  await ledger.close()
})

it('drops and counts new records once 100,000 are queued, without a warning for each', async () => {
  const folder = join(tempFolder(), 'ledger')
  const { lines, logger } = errorMessages()
  const ledger = fileLedger({ folder, logger })
  const mend = breakDisk(folder)
  const small = recordWith({ attempts: [] })
  for (let id = 0; id < 100_010; id++) ledger.append({ ...small, id: String(id) })
  expect(ledger.dropped).toBe(10)
  expect(lines).toEqual([
    expect.stringMatching(/records are dropped; 100000 records are not written yet; 1 records were dropped/),
  ])
  mend()
  await ledger.flush()
  ledger.append({ ...small, id: 'later' })
  await ledger.close()
  const ids = await idsIn(folder)
  expect(ids).toHaveLength(100_001)
  expect(ids.at(-2)).toBe('99999')
  expect(ids.at(-1)).toBe('later')
})

it('drops records that are too large to queue', async () => {
  const folder = join(tempFolder(), 'ledger')
  const ledger = fileLedger({ folder, ...quiet })
  const owner = 'x'.repeat(1024 * 1024)
  for (let id = 0; id < 70; id++) ledger.append(recordWith({ owner }))
  expect(ledger.dropped).toBe(7)
  await ledger.flush()
  ledger.append(recordWith({ owner }))
  await ledger.close()
  expect(await readAll(folder)).toHaveLength(64)
  expect(ledger.dropped).toBe(7)
})

it('reports the lost records if it is closed while it cannot write', async () => {
  const folder = join(tempFolder(), 'ledger')
  const ledger = fileLedger({ folder, ...quiet })
  breakDisk(folder)
  for (const id of range(3)) ledger.append(recordWith({ id }))
  await expect(ledger.close()).rejects.toThrow(`ledger in ${folder}: closed with 3 records unwritten`)
})

/** Returns the open files of this process below a folder. */
function openFilesIn(folder: string): number {
  return readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(folder)
    } catch {
      return false
    }
  }).length
}

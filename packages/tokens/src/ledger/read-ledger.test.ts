import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { idsIn, readAll, recordWith, tempFolder } from './ledger.test-support.ts'
import { readLedger } from './read-ledger.ts'

const line = (id: string, more = {}): string => `${JSON.stringify(recordWith({ id, ...more }))}\n`
const write = (folder: string, name: string, text: string | Uint8Array): void => writeFileSync(join(folder, name), text)

it('returns the records that were written', async () => {
  const folder = tempFolder()
  write(folder, '2026-11-21.1-a.jsonl', line('1'))
  expect(await readAll(folder)).toEqual([recordWith({ id: '1' })])
})

it('reads the requested days in order', async () => {
  const folder = tempFolder()
  for (const day of ['2026-11-22', '2026-11-20', '2026-12-01', '2026-11-21'])
    for (const name of ['2-b', '1-a']) write(folder, `${day}.${name}.jsonl`, line(`${day}.${name}`))
  const days = async (options = {}) => (await idsIn(folder, options)).map((id) => id.slice(5))
  expect(await days()).toEqual([
    '11-20.1-a',
    '11-20.2-b',
    '11-21.1-a',
    '11-21.2-b',
    '11-22.1-a',
    '11-22.2-b',
    '12-01.1-a',
    '12-01.2-b',
  ])
  expect(await days({ from: '2026-11-22' })).toEqual(['11-22.1-a', '11-22.2-b', '12-01.1-a', '12-01.2-b'])
  expect(await days({ to: '2026-11-20' })).toEqual(['11-20.1-a', '11-20.2-b'])
  expect(await days({ from: '2026-11-21', to: '2026-11-21' })).toEqual(['11-21.1-a', '11-21.2-b'])
  expect(await days({ from: '2026-12-02' })).toEqual([])
})

it('ignores other files', async () => {
  const folder = tempFolder()
  write(folder, '2026-11-21.1-a.jsonl', line('1'))
  for (const name of ['notes.jsonl', '2026-11-21.jsonl.gz', '2026-11-21.txt', '26-11-21.1-a.jsonl'])
    write(folder, name, line('x'))
  mkdirSync(join(folder, 'old'))
  expect(await idsIn(folder)).toEqual(['1'])
})

it.each<[string, string, string[], number]>([
  ['an empty file', '', [], 0],
  ['a truncated last line', `${line('1')}${line('2').slice(0, 40)}`, ['1'], 1],
  ['a complete last line without a line break', `${line('1')}${line('2').slice(0, -1)}`, ['1'], 1],
  ['a truncated line in the middle', `${line('1')}${line('2').slice(0, 40)}\n${line('3')}`, ['1', '3'], 1],
  ['an empty line', `${line('1')}\n${line('2')}`, ['1', '2'], 1],
  ['zeros, as some file systems leave them', `${line('1')}${'\0'.repeat(4096)}`, ['1'], 1],
  ['JSON that is not a record', `null\n[]\n1\n{"id":"1"}\n{"id":1,"time":"","model":""}\n${line('1')}`, ['1'], 5],
  ['line breaks of other kinds within a record', line('1', { model: 'a\u2028b\u2029c\r\n' }), ['1'], 0],
  ['lines longer than one read', line('1', { owner: 'ä'.repeat(200_000) }) + line('2'), ['1', '2'], 0],
  ['a line longer than any record', `${line('1')}${'x'.repeat(17 * 1024 * 1024)}\n${line('2')}`, ['1', '2'], 1],
])('returns the intact records around %s', async (_, text, ids, lines) => {
  const folder = tempFolder()
  write(folder, '2026-11-21.1-a.jsonl', text)
  write(folder, '2026-11-22.1-a.jsonl', line('next'))
  const torn: unknown[] = []
  expect(await idsIn(folder, { onTorn: (file) => torn.push(file) })).toEqual([...ids, 'next'])
  expect(torn).toEqual(lines === 0 ? [] : [{ file: '2026-11-21.1-a.jsonl', lines }])
})

it('decodes characters that span two reads', async () => {
  const folder = tempFolder()
  const owner = 'ä€😀'.repeat(50_000)
  write(folder, '2026-11-21.1-a.jsonl', line('1', { owner: `x${owner}` }) + line('2', { owner }))
  expect((await readAll(folder)).map((record) => record.owner)).toEqual([`x${owner}`, owner])
})

it('supports stopping early and reading again', async () => {
  const folder = tempFolder()
  write(folder, '2026-11-21.1-a.jsonl', line('1') + line('2'))
  const records = readLedger(folder)
  for (let time = 0; time < 2; time++)
    for await (const { id } of records) {
      expect(id).toBe('1')
      break
    }
})

it('throws for an invalid day or an unreadable folder', async () => {
  const folder = tempFolder()
  expect(() => readLedger(folder, { from: '21.11.2026' })).toThrow(
    "readLedger: from is '21.11.2026'. Write a day such as",
  )
  expect(() => readLedger(folder, { to: '2026-11' })).toThrow(TypeError)
  const none = join(folder, 'none')
  await expect(readAll(none)).rejects.toThrow(`readLedger: ${none} cannot be read. Pass the folder of a fileLedger`)
})

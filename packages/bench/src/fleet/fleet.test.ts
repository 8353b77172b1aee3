import { describe, expect, it } from 'vitest'
import { tagOf } from './cluster.js'
import { dueCalls } from './load.js'
import { difference, readInfo } from './redis-server.js'
import { createTally, encode, keysOf, purposeOf, replyBytes } from './tally.js'

const reserve = ['EVALSHA', 'f00', '2', 'modelgate:{o}:call:1', 'modelgate:{o}:period:x', 'reserve', '1']
const settle = ['EVALSHA', 'f01', '2', 'modelgate:{o}:call:1', 'modelgate:{o}:sums:2026-11-29', '1', '']
const presence = ['EVALSHA', 'f02', '1', 'modelgate:processes', 'id', '15000']
const imported = ['EVALSHA', 'f03', '2', 'modelgate:{o}:window:x', 'modelgate:{o}:moved:window:x']

describe('traffic of a fleet', () => {
  it('is counted by purpose', () => {
    const purposes = [reserve, settle, presence, imported, ['GET', 'modelgate:digest:1'], ['ZADD', 'a', '0', 'b']]
    expect(purposes.map(purposeOf)).toEqual(['reserve', 'settle', 'presence', 'import', 'look-up', 'other'])
  })

  it('is counted in the bytes of the protocol', () => {
    expect(encode(['GET', 'ä'])).toBe('*2\r\n$3\r\nGET\r\n$2\r\nä\r\n')
    expect(replyBytes(['ok', null, 12])).toBe('*3\r\n$2\r\nok\r\n$-1\r\n:12\r\n'.length)
    expect(replyBytes('OK')).toBe('+OK\r\n'.length)
  })

  it('contains each command of a wrapped client with its reply', async () => {
    const tally = createTally()
    const client = tally.count({ sendCommand: async () => ['ok', '1'] })
    await client.sendCommand(reserve)
    await client.sendCommand(reserve)
    await client.sendCommand(presence)
    expect(tally.of('reserve')).toEqual({
      commands: 2,
      bytesIn: 2 * encode(reserve).length,
      bytesOut: 2 * replyBytes(['ok', '1']),
    })
    expect(tally.commands()).toBe(3)
  })
})

it('finds the hash tags of all keys of a script', () => {
  expect(keysOf(reserve).map(tagOf)).toEqual(['o', 'o'])
  expect(tagOf('modelgate:processes')).toBe('modelgate:processes')
})

it('starts calls at their rate, the first at once', () => {
  expect([0, 9.9, 10, 25].map((ms) => dueCalls(ms, 100))).toEqual([1, 1, 2, 3])
})

it('reads the counters of Redis without those of INFO itself', () => {
  const text = (calls: number) =>
    [
      'used_memory:1000',
      `used_cpu_sys:${calls / 1000}`,
      'used_cpu_user:1.5',
      `total_net_input_bytes:${calls * 10}`,
      'total_net_output_bytes:7',
      'cmdstat_info:calls=9,usec=1',
      `cmdstat_evalsha:calls=${calls},usec=1`,
      'cmdstat_config|set:calls=2,usec=1',
    ].join('\r\n')
  expect(readInfo(text(4))).toMatchObject({ commands: 6, scripts: 4, memory: 1000, bytesIn: 40, bytesOut: 7 })
  expect(difference(readInfo(text(4)), readInfo(text(10)))).toMatchObject({
    commands: 6,
    scripts: 6,
    bytesIn: 60,
    memory: 0,
  })
})

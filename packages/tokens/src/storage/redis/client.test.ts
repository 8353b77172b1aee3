import { Cluster, Redis } from 'ioredis'
import { createClient, createClientPool, createCluster, createSentinel } from 'redis'
import { describe, expect, it } from 'vitest'
import { type Command, commandOf, evaluate, isCommandError, type RedisClient, script } from './client.ts'

describe('a command', () => {
  const noted = (own: Readonly<Record<string, unknown>>, name: string) => {
    const calls: unknown[][] = []
    const client = {
      ...own,
      [name]: async (...args: unknown[]) => {
        calls.push(args)
        return 'OK'
      },
    }
    return { client: client as unknown as RedisClient, calls }
  }
  it.each([
    ['ioredis, iovalkey', { sendCommand() {} }, 'call', ['GET', 'k']],
    ['node-redis', {}, 'sendCommand', [['GET', 'k']]],
    ['node-redis for a cluster', { nodeClient() {} }, 'sendCommand', ['k', false, ['GET', 'k']]],
    ['node-redis with sentinels', { getMasterNode() {} }, 'sendCommand', [false, ['GET', 'k']]],
  ])('is sent with the signature of %s', async (_, own, name, sent) => {
    const { client, calls } = noted(own, name)
    expect(await commandOf(client)('k', ['GET', 'k'])).toBe('OK')
    expect(calls).toEqual([sent])
  })

  it.each<[string, RedisClient, string, unknown[]]>([
    ['Redis of ioredis', new Redis({ lazyConnect: true }), 'call', ['GET', 'k']],
    ['Cluster of ioredis', new Cluster(['localhost'], { lazyConnect: true }), 'call', ['GET', 'k']],
    ['createClient', createClient(), 'sendCommand', [['GET', 'k']]],
    ['createClientPool', createClientPool(), 'sendCommand', [['GET', 'k']]],
    ['createCluster', createCluster({ rootNodes: [{}] }), 'sendCommand', ['k', false, ['GET', 'k']]],
    [
      'createSentinel',
      createSentinel({ name: 'main', sentinelRootNodes: [{ host: 'localhost', port: 26379 }] }),
      'sendCommand',
      [false, ['GET', 'k']],
    ],
  ])('is sent with the signature of a real client: %s', async (_, client, name, sent) => {
    const calls: unknown[][] = []
    Object.defineProperty(client, name, { value: async (...args: unknown[]) => calls.push(args) })
    await commandOf(client)('k', ['GET', 'k'])
    expect(calls).toEqual([sent])
  })

  it.each([
    ['undefined', undefined, /client is undefined; pass a client/],
    ['null', null, /client is null/],
    ['a URL', 'redis://localhost', /client is string/],
    ['an object without methods', {}, /neither call\(\) nor sendCommand\(\)/],
  ])('is rejected with a descriptive error if the client is %s', (_, client, message) => {
    expect(() => commandOf(client as unknown as RedisClient)).toThrow(TypeError)
    expect(() => commandOf(client as unknown as RedisClient)).toThrow(message)
  })
})

describe('a script', () => {
  const one = script('return 1')
  const sending = (...answers: (string | Error)[]) => {
    const sent: (readonly string[])[] = []
    const command: Command = async (_, args) => {
      sent.push(args)
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return answer
    }
    return { command, sent }
  }

  it('is run by its digest', async () => {
    const { command, sent } = sending('1')
    expect(await evaluate(command, one, ['k'], ['a'])).toBe('1')
    expect(sent).toEqual([['EVALSHA', 'e0e1f9fabfc9d4800c877a703b823ac0578ff8db', '1', 'k', 'a']])
  })

  it('is sent as source text if Redis does not know it', async () => {
    const { command, sent } = sending(new Error('NOSCRIPT No matching script.'), '1')
    expect(await evaluate(command, one, ['k', 'l'], [])).toBe('1')
    expect(sent[1]).toEqual(['EVAL', 'return 1', '2', 'k', 'l'])
  })

  it('fails with the error of the command', async () => {
    const { command, sent } = sending(new Error('Socket closed unexpectedly'))
    await expect(evaluate(command, one, ['k'], [])).rejects.toThrow('Socket closed unexpectedly')
    expect(sent).toHaveLength(1)
  })
})

it.each([
  ['ERR value is not an integer or out of range', true],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', true],
  ['NOSCRIPT No matching script.', true],
  ['LOADING Redis is loading the dataset in memory', false],
  ["READONLY You can't write against a read only replica.", false],
  ["OOM command not allowed when used memory > 'maxmemory'.", false],
  ['CLUSTERDOWN The cluster is down', false],
  ['NOAUTH Authentication required.', false],
  ['connect ECONNREFUSED', false],
  ['Socket closed unexpectedly', false],
  ['The client is closed', false],
  ['Connection is closed.', false],
])('classifies the error "%s" as a reply of a usable Redis: %s', (message, answer) => {
  expect(isCommandError(new Error(message))).toBe(answer)
})

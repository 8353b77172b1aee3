import { describe, expect, test, beforeAll, afterAll, afterEach } from 'vitest'
import { formats } from './fixtures.ts'
import { servers } from './servers.ts'
import { createSetting, lossesOf, pixel, type Setting } from './sdk-context.ts'
import { talkers } from './sdk-talk.ts'
const server = servers.at(-1)!
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA='
const pdf = Buffer.from('%PDF-1.4\n%%EOF').toString('base64')
for (const upstream of formats) for (const client of formats) for (const stream of [false, true])
  describe(`${client} from ${upstream} ${stream}`, () => {
    let setting: Setting
    beforeAll(async () => { setting = await createSetting(server, upstream) })
    afterAll(() => setting.close())
    afterEach(() => setting.fake.reset())
    const show = async (name: string, call: () => Promise<unknown>) => {
      let out: unknown
      const before = setting.finished.length
      try { out = await call() } catch (e) { out = `${(e as Error).name} ${(e as Error).message}` }
      await new Promise(r => setTimeout(r, 10))
      const losses = setting.finished.slice(before).flatMap(e => e.losses.filter(l => l.severity !== 'note').map(l => `${l.severity} ${l.side ?? ''}${l.path}: ${l.detail}`))
      console.log(`##${client} from ${upstream} ${stream ? 'streamed' : 'whole'} ${name}: ${(typeof out === 'object' && process.env.WHAT === 'media' ? (out as {text:string}).text.slice(0,75) : JSON.stringify(out)).slice(0,+(process.env.LEN ?? 260))}${losses.map(l => '\n     ' + l).join('')}`)
    }
    const mine = (process.env.WHAT ?? '')
    const pieces = { image: { image: pixel }, imageAt: { imageAt: 'https://e.example/a.png' }, pdf: { pdf }, audio: { audio: wav } }
    if (mine === 'media') for (const [name, piece] of Object.entries(pieces)) {
      test(name, () => show(name, () => talkers[client](setting, { stream }).ask({ text: 'What is it?' }, piece as never)))
      test('result ' + name, () => show('result ' + name, async () => {
        const talk = talkers[client](setting, { stream, tools: ['look'] })
        await talk.ask({ text: '[[tool:look {"city":"x"}]]' })
        return talk.answer({ look: [piece as never] })
      }))
    }
    if (mine === 'ends') {
      test('refuse', () => show('refuse', () => talkers[client](setting, { stream }).ask({ text: '[[refuse]]' })))
      test('length', () => show('length', () => talkers[client](setting, { stream, most: 16 }).ask({ text: '[[words:50]]' })))
      test('filter', () => show('filter', () => talkers[client](setting, { stream }).ask({ text: '[[say:x y z]] [[finish:content-filter]]' })))
      test('cached', () => show('cached', async () => {
        const talk = talkers[client](setting, { stream, system: 'word '.repeat(100) })
        const first = await talk.ask({ text: 'hello' })
        const second = await talk.ask({ text: 'and again' })
        return [first.usage, second.usage]
      }))
      test('midstream', () => show('midstream', () => talkers[client](setting, { stream }).ask({ text: '[[words:50]] [[error-event after:8]]' })))
      test('cut', () => show('cut', () => talkers[client](setting, { stream }).ask({ text: '[[words:50]] [[cut after:8]]' })))
    }
    if (mine === 'loop') test('loop', () => show('loop', async () => {
      setting.fake.reply({ thinking: 'First I look.', toolCalls: [{ name: 'get_weather', input: { city: 'Paris' } }, { name: 'get_time', input: { city: 'Oslo' } }] },
        { thinking: 'Then I look again.', text: 'One moment.', toolCalls: [{ name: 'get_time', input: { city: 'Rome' } }] },
        { thinking: 'Now I know.', text: 'It is late.' }, {text: 'Bye.'})
      const talk = talkers[client](setting, { stream, think: true, tools: ['get_weather', 'get_time'] })
      const first = await talk.ask({ text: 'What is the weather?' })
      const second = await talk.answer({ get_weather: [{ text: '18' }], get_time: [{text: 'nine'}] })
      const third = await talk.answer({ get_time: [{ text: 'nine' }] })
      const fourth = await talk.ask({ text: 'thanks' })
      return [first, second, third, fourth, setting.fake.requests.at(-1)?.bodyText]
    }))
  })

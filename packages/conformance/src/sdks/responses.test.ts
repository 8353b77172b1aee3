import { afterAll } from 'vitest'
import { responsesCases } from './responses.ts'
import { runSuite } from './suite.ts'

const reported = runSuite('the OpenAI SDK on responses', 'responses', responsesCases)
afterAll(() => console.log(reported()))

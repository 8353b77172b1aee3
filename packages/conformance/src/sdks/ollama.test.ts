import { afterAll } from 'vitest'
import { ollamaCases } from './ollama.ts'
import { runSuite } from './suite.ts'

const reported = runSuite('the Ollama client', 'ollama', ollamaCases)
afterAll(() => console.log(reported()))

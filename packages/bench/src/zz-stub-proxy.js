// @ts-nocheck
import http from 'node:http'
import { createNodeHandler } from '@modelgate/node'
import { report } from './process.js'
const [upstream=''] = process.argv.slice(2)
const gw = { match: ()=>({}), async handle(inbound, transport) {
  const body = await inbound.read(1e8)
  const signal = process.env.NOSIG ? {aborted:false,addEventListener(){},removeEventListener(){}} : inbound.signal
  const r = await transport({url: upstream + inbound.path, method:'POST', headers:{'content-type':'application/json',authorization:'Bearer upstream-key',accept:'application/json'}, body, signal})
  return {status:200, headers:{'content-type':r.header('content-type')}, body: await r.bytes(1e8)}
} }
const h = createNodeHandler(gw)
const server = http.createServer((req,res)=>h(req,res))
server.listen(0,'127.0.0.1',()=>report(server))

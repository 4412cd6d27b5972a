// The main path of the desktop client in JavaScript: every step is checked here; a test in Python runs it and looks at the
// exit code.
import assert from 'node:assert/strict'
import { Sandbox } from '@e2b/desktop'

const step = (text) => console.log(text)

async function eventually(check, seconds = 30) {
  const deadline = Date.now() + seconds * 1000
  for (;;) {
    try {
      return await check()
    } catch (error) {
      if (Date.now() > deadline) throw error
    }
  }
}

step('create')
const desktop = await Sandbox.create({ timeoutMs: 600_000 })
try {
  // The client waits for any screen to answer, and there is one before it has the size that was asked for.
  await eventually(async () => {
    assert.deepEqual(await desktop.getScreenSize(), { width: 1024, height: 768 })
    assert.deepEqual(await desktop.getCursorPosition(), { x: 512, y: 384 })
  })

  step('look')
  const png = Buffer.from(await desktop.screenshot())
  assert.equal(png.subarray(1, 4).toString(), 'PNG')
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [1024, 768])

  step('launch')
  await desktop.launch('org.xfce.mousepad')
  const [window] = await eventually(async () => {
    const found = await desktop.getApplicationWindows('mousepad')
    assert(found.length > 0)
    return found
  })
  await eventually(async () => assert.match(await desktop.getWindowTitle(window), /Mousepad/))

  step('use')
  await desktop.commands.run(`xdotool windowactivate --sync ${window}`)
  await eventually(async () => assert.equal(await desktop.getCurrentWindowId(), window))
  await desktop.write('from JavaScript')
  await desktop.press(['ctrl', 'a'])
  await desktop.press(['ctrl', 'c'])
  const copied = await eventually(async () => {
    const text = (await desktop.commands.run('xclip -o -selection clipboard')).stdout
    assert.equal(text, 'from JavaScript')
    return text
  })
  assert(copied)
  await desktop.moveMouse(200, 100)
  assert.deepEqual(await desktop.getCursorPosition(), { x: 200, y: 100 })
  await desktop.leftClick()
  await desktop.drag([200, 100], [260, 130])
  assert.deepEqual(await desktop.getCursorPosition(), { x: 260, y: 130 })

  step('a person drives')
  const roost = async (path, body) => {
    const answer = await fetch(`${process.env.E2B_API_URL}/v1/${path}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${process.env.E2B_API_KEY}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    assert(answer.ok, `${path} answered ${answer.status}`)
    return answer.status === 204 ? undefined : await answer.json()
  }
  const { token } = await roost(`sandboxes/${desktop.sandboxId}/links`, { mode: 'control', label: 'anna' })
  // Who is before no screen drives for ten seconds only.
  const screen = new WebSocket(`${process.env.E2B_API_URL.replace('http', 'ws')}/desktop/rfb?link=${token}`, {
    protocols: ['binary'],
    headers: { 'E2b-Sandbox-Id': desktop.sandboxId, 'E2b-Sandbox-Port': '49983' },
  })
  await new Promise((opened, failed) => Object.assign(screen, { onopen: opened, onerror: failed }))
  const hands = (folder) =>
    eventually(async () => assert((await desktop.commands.run('readlink /run/roost/hands')).stdout.trim().endsWith(folder)))
  const { since } = await roost('driver/take', { token })
  await hands('person-drives')
  for (const attempt of [
    () => desktop.moveMouse(1, 1),
    () => desktop.leftClick(),
    () => desktop.write('hello'),
    () => desktop.press('enter'),
  ]) {
    await assert.rejects(attempt, (error) => {
      assert.equal(error.exitCode, 75)
      assert(error.stderr.includes(`anna drives since ${since}`), error.stderr)
      return true
    })
  }
  assert.deepEqual(await desktop.getCursorPosition(), { x: 260, y: 130 })
  await roost('driver/give', { token })
  await hands('agent-drives')
  screen.close()
  await desktop.moveMouse(201, 101)
  assert.deepEqual(await desktop.getCursorPosition(), { x: 201, y: 101 })

  step('stream')
  await desktop.stream.start()
  assert.match(desktop.stream.getUrl(), /^https:\/\/6080-.*\/vnc\.html\?autoconnect=true&resize=scale/)
  await desktop.stream.stop()
  step('done')
} finally {
  await desktop.kill()
}
process.exit(0)

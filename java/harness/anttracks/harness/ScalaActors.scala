// SPDX-License-Identifier: Apache-2.0
package anttracks.harness

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicLong
import scala.actors.Actor

/** Actors: tokens go round a ring of 200, and clients move money between accounts of banks. Sums that no order changes. */
class ScalaActors(rounds: Int, transfers: Int) extends Workload {
  import ScalaActors._

  private val RingSize = 200
  private val Banks = 4
  private val Clients = 20
  private val Accounts = 100

  private class Node(index: Int, result: AtomicLong, done: CountDownLatch) extends Actor {
    var next: Actor = _

    override def act(): Unit = loop {
      react {
        case Token(0, sum) =>
          result.addAndGet(sum)
          done.countDown()
        case Token(left, sum) => next ! Token(left - 1, sum * 31 + index)
        case Stop => exit()
      }
    }
  }

  private class Bank extends Actor {
    private var balances = Vector.fill(Accounts)(1000L)

    override def act(): Unit = loop {
      react {
        case Transfer(from, to, amount, client) =>
          balances = balances.updated(from, balances(from) - amount)
          balances = balances.updated(to, balances(to) + amount)
          client ! Done(amount)
        case Stop =>
          val hash = balances.foldLeft(0L)(_ * 31 + _)
          reply(hash)
          exit()
      }
    }
  }

  private class Client(index: Int, banks: Seq[Bank], result: AtomicLong, done: CountDownLatch) extends Actor {
    private val random = new java.util.SplittableRandom(index)
    private var left = transfers
    private var sum = 0L

    private def ask(): Unit =
      banks(random.nextInt(Banks)) ! Transfer(random.nextInt(Accounts), random.nextInt(Accounts), random.nextInt(1, 50), this)

    override def act(): Unit = {
      ask()
      loop {
        react {
          case Done(amount) =>
            sum = sum * 31 + amount
            left -= 1
            if (left > 0) ask()
            else {
              result.addAndGet(sum)
              done.countDown()
              exit()
            }
        }
      }
    }
  }

  private def ring(): Long = {
    val result = new AtomicLong
    val tokens = 8
    val done = new CountDownLatch(tokens)
    val nodes = Vector.tabulate(RingSize)(new Node(_, result, done))
    for (i <- nodes.indices) nodes(i).next = nodes((i + 1) % RingSize)
    nodes.foreach(_.start())
    for (i <- 0 until tokens) nodes(i * RingSize / tokens) ! Token(rounds * RingSize, i)
    done.await()
    nodes.foreach(_ ! Stop)
    result.get
  }

  private def bank(): Long = {
    val result = new AtomicLong
    val done = new CountDownLatch(Clients)
    val banks = Vector.fill(Banks)(new Bank)
    banks.foreach(_.start())
    for (i <- 0 until Clients) new Client(i, banks, result, done).start()
    done.await()
    banks.foldLeft(result.get)((sum, bank) => sum * 31 + (bank !? Stop).asInstanceOf[Long])
  }

  override def iterate(): Long = ring() * 31 + bank()
}

object ScalaActors {
  case class Token(left: Int, sum: Long)
  case class Transfer(from: Int, to: Int, amount: Int, client: Actor)
  case class Done(amount: Int)
  case object Stop

  def main(arguments: Array[String]): Unit = {
    val small = Workload.small(arguments)
    new ScalaActors(if (small) 20 else 200, if (small) 1000 else 10000).measure(arguments)
    // The scheduler's threads would end only after a while.
    System.exit(0)
  }
}

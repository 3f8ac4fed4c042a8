// SPDX-License-Identifier: Apache-2.0
package anttracks.harness

import scala.collection.immutable.{HashMap, TreeMap}
import scala.util.parsing.combinator.RegexParsers

/** Lambda terms are made, printed, parsed again, rewritten until nothing changes, and evaluated. Fixed seed. */
class ScalaFun(terms: Int) extends Workload {
  import ScalaFun._

  private def show(term: Term): String = term match {
    case Variable(name) => name
    case Number(value) => value.toString
    case Lambda(name, body) => s"(\\$name. ${show(body)})"
    case Apply(function, argument) => s"(${show(function)} ${show(argument)})"
    case Sum(left, right) => s"(${show(left)} + ${show(right)})"
    case Let(name, value, body) => s"(let $name = ${show(value)} in ${show(body)})"
  }

  /** A term that has a number for its value; scope: names of numbers. */
  private def make(random: java.util.SplittableRandom, depth: Int, scope: Vector[String]): Term = {
    def sub(more: String*): Term = make(random, depth - 1, scope ++ more)
    if (depth == 0) {
      if (scope.isEmpty || random.nextInt(3) == 0) Number(random.nextInt(10)) else Variable(scope(random.nextInt(scope.size)))
    } else {
      val name = "v" + random.nextInt(20)
      random.nextInt(4) match {
        case 0 => Apply(Lambda(name, sub(name)), sub())
        case 1 => Let(name, sub(), sub(name))
        case _ => Sum(sub(), sub())
      }
    }
  }

  private def children(term: Term, change: Term => Term): Term = term match {
    case Lambda(name, body) => Lambda(name, change(body))
    case Apply(function, argument) => Apply(change(function), change(argument))
    case Sum(left, right) => Sum(change(left), change(right))
    case Let(name, value, body) => Let(name, change(value), change(body))
    case leaf => leaf
  }

  /** Folds constants, turns redexes into lets, and drops lets whose name is not used. Bottom up, one pass. */
  private def rewrite(term: Term): Term = children(term, rewrite) match {
    case Sum(Number(a), Number(b)) => Number(a + b)
    case Sum(Number(a), right) => Sum(right, Number(a))
    case Apply(Lambda(name, body), argument) => Let(name, argument, body)
    case Let(name, _, body) if !free(body)(name) => body
    case other => other
  }

  private def free(term: Term): Set[String] = term match {
    case Variable(name) => Set(name)
    case Number(_) => Set.empty
    case Lambda(name, body) => free(body) - name
    case Apply(function, argument) => free(function) ++ free(argument)
    case Sum(left, right) => free(left) ++ free(right)
    case Let(name, value, body) => free(value) ++ (free(body) - name)
  }

  private def settle(term: Term, passes: Int): Term = {
    val next = rewrite(term)
    if (next == term || passes == 0) next else settle(next, passes - 1)
  }

  private def evaluate(term: Term, environment: Map[String, Value]): Value = term match {
    case Variable(name) => environment(name)
    case Number(value) => Integer(value)
    case Lambda(name, body) => Closure(name, body, environment)
    case Let(name, value, body) => evaluate(body, environment + (name -> evaluate(value, environment)))
    case Sum(left, right) => (evaluate(left, environment), evaluate(right, environment)) match {
      case (Integer(a), Integer(b)) => Integer(a + b)
      case other => sys.error(s"cannot add $other")
    }
    case Apply(function, argument) => evaluate(function, environment) match {
      case Closure(name, body, inner) => evaluate(body, inner + (name -> evaluate(argument, environment)))
      case other => sys.error(s"cannot apply $other")
    }
  }

  override def iterate(): Long = {
    val random = new java.util.SplittableRandom(3)
    var sizes = TreeMap.empty[Int, Int].withDefaultValue(0)
    var sum = 0L
    for (_ <- 0 until terms) {
      val made = make(random, 7, Vector.empty)
      val text = show(made)
      val parsed = TermParser.parseAll(TermParser.term, text).get
      if (parsed != made) sys.error(s"parsed as another term: $text")
      val small = settle(parsed, 20)
      val value = evaluate(parsed, HashMap.empty)
      if (evaluate(small, HashMap.empty) != value) sys.error(s"rewriting changed the value of $text")
      sizes += (text.length / 100 -> (sizes(text.length / 100) + 1))
      value match {
        case Integer(number) => sum = sum * 31 + number + show(small).length
        case Closure(name, _, _) => sys.error(s"the value is a function of $name")
      }
    }
    sizes.foldLeft(sum) { case (all, (length, count)) => all * 31 + length * 1000L + count }
  }
}

object ScalaFun {
  sealed trait Term
  case class Variable(name: String) extends Term
  case class Number(value: Int) extends Term
  case class Lambda(name: String, body: Term) extends Term
  case class Apply(function: Term, argument: Term) extends Term
  case class Sum(left: Term, right: Term) extends Term
  case class Let(name: String, value: Term, body: Term) extends Term

  object TermParser extends RegexParsers {
    def term: Parser[Term] = lambda | let | sum
    def lambda: Parser[Term] = ("\\" ~> name <~ ".") ~ term ^^ { case n ~ body => Lambda(n, body) }
    def let: Parser[Term] = ("let" ~> name <~ "=") ~ (term <~ "in") ~ term ^^ { case n ~ value ~ body => Let(n, value, body) }
    def sum: Parser[Term] = application ~ rep("+" ~> application) ^^ { case first ~ rest => rest.foldLeft(first)(Sum) }
    def application: Parser[Term] = rep1(atom) ^^ (_.reduceLeft(Apply))
    def atom: Parser[Term] = number | variable | "(" ~> term <~ ")"
    def number: Parser[Term] = """\d+""".r ^^ (digits => Number(digits.toInt))
    def variable: Parser[Term] = name ^^ Variable
    def name: Parser[String] = """(?!let\b|in\b)[a-z]\w*""".r
  }

  sealed trait Value
  case class Integer(value: Int) extends Value
  case class Closure(name: String, body: Term, environment: Map[String, Value]) extends Value

  def main(arguments: Array[String]): Unit = {
    new ScalaFun(if (Workload.small(arguments)) 300 else 1500).measure(arguments)
  }
}
